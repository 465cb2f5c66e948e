import type { ServerResponse } from 'node:http';
import type { Elicitor, FormResponse } from '../../src/calls/context.js';
import { plainResult } from '../../src/calls/result-text.js';
import type { State } from '../../src/changes/change.js';
import { operations } from '../../src/tools/index.js';
import { type Ended, memoryStore, type TestCallerOptions, testCaller } from './caller.js';
import { changeAt } from './changes.js';
import { startServer } from './http-server.js';

/** A call in circumstances that the sandbox does not bring about by itself. */

export const now = new Date('2026-11-20T12:00:00Z');

/** A cloud that answers with one thing. */
export const answering =
  (status: number, body: unknown = {}, contentType = 'application/json', headers: object = {}) =>
  (response: ServerResponse) => {
    response.writeHead(status, {
      'content-type': contentType,
      ...headers,
      'x-amz-request-id': 'r-1',
      date: now.toUTCString(),
    });
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };

export interface UploadedPart {
  readonly number: number;
  readonly minutesAgo: number;
  readonly mebibytes: number;
}

/** A cloud that lists an upload with these parts. */
export const uploadOf = (parts: readonly UploadedPart[]) => {
  const elements = parts.map(({ number, minutesAgo, mebibytes }) => {
    const time = new Date(now.getTime() - minutesAgo * 60_000).toISOString();
    return `<Part><PartNumber>${number}</PartNumber><LastModified>${time}</LastModified><ETag>"e-${number}"</ETag><Size>${mebibytes * 1024 ** 2}</Size></Part>`;
  });
  const body = `<ListPartsResult><Bucket>b</Bucket><Key>o</Key><UploadId>u</UploadId><IsTruncated>false</IsTruncated>${elements.join('')}</ListPartsResult>`;
  return answering(200, body, 'application/xml');
};

/** A cloud that lists `count` uploads, seven hours apart. Two of them are for the same object. */
export const uploadsOf = (count: number) => {
  const elements = Array.from({ length: count }, (_, index) => {
    const time = new Date(now.getTime() - (index + 1) * 7 * 3_600_000).toISOString();
    const key = `backups/${String(index === 2 ? 1 : index).padStart(2, '0')}/disk.img`;
    return `<Upload><Key>${key}</Key><UploadId>upload-${index}</UploadId><Initiator><ID>i-1</ID><DisplayName>backup</DisplayName></Initiator><Initiated>${time}</Initiated></Upload>`;
  });
  const body = `<ListMultipartUploadsResult><Bucket>b</Bucket><IsTruncated>false</IsTruncated>${elements.join('')}</ListMultipartUploadsResult>`;
  return answering(200, body, 'application/xml');
};

/** Parts of 8 MiB, one after the other, each `minutes` after the one before. */
export const serialParts = (count: number, minutes: number, lastMinutesAgo: number): UploadedPart[] =>
  Array.from({ length: count }, (_, index) => ({
    number: index + 1,
    minutesAgo: lastMinutesAgo + (count - 1 - index) * minutes,
    mebibytes: 8,
  }));

/** A client that shows the question to a person, who takes a while. */
export const person = (kind: FormResponse['kind']): Elicitor => ({ isDirect: true, ask: async () => ({ kind }) });

export interface Situation {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly options?: TestCallerOptions;
  readonly cloud?: (response: ServerResponse, count: number) => void;
  readonly elicitor?: Elicitor;
  /** Confirms the plan of the first answer, for this thing. */
  readonly confirms?: string;
  /** The state of an earlier change with the same request, or an accepted one of another caller. */
  readonly earlier?: State | 'of another';
}

/** The store of a server that sent the same change a minute before. */
function storeWith(earlier: NonNullable<Situation['earlier']>) {
  const isOfAnother = earlier === 'of another';
  const change = changeAt(now.getTime() - 60_000, {
    caller: isOfAnother ? 'bob' : 'alice',
    state: isOfAnother ? 'accepted' : earlier,
    ending: earlier === 'begun' ? undefined : { requestIds: { 'x-amz-request-id': 'r-0' } },
  });
  return { ...memoryStore(() => now), duplicateOf: async () => change };
}

/** The answer to a call in a situation, as text and as structure. */
export async function answerOf(
  { tool, args, options, cloud = answering(200), elicitor, confirms, earlier }: Situation,
  secretsDir: string,
) {
  const operation = operations.find(({ name }) => name === tool);
  if (operation === undefined) throw new Error(`${tool} is not an operation`);
  const server = await startServer((_request, response, count) => cloud(response, count));
  const store = earlier === undefined ? {} : { store: storeWith(earlier) };
  const caller = testCaller(server.origin, { now: () => now, secretsDir, ...store, ...options });
  const context = {
    client: { elicitor },
    ...(earlier !== undefined && { principal: { name: 'alice', scopes: ['cloudops:read', 'cloudops:write'] } }),
  };
  try {
    const first = await caller.call(operation, args, context);
    const changeId = String(structureOf(first).changeId);
    const last = confirms === undefined ? first : await caller.confirm(changeId, confirms, context);
    const sent = plainResult(last.ok ? last.structured : last.failure);
    return { text: last.text, structured: { ...structureOf(last) }, sent, requests: server.requests };
  } finally {
    await caller.close();
    await server.close();
  }
}

const structureOf = (ended: Ended): Readonly<Record<string, unknown>> => ({
  ...(ended.ok ? ended.structured : ended.failure),
});
