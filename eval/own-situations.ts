import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import * as z from 'zod';
import { endpointSetting, resolveEndpoint, wireRequest } from '../src/calls/endpoint.js';
import { loadOperationFiles } from '../src/cli/load-operation-files.js';
import { fixedKeys } from '../src/signing/keys.js';
import { exampleOf, type Operation } from '../src/tools/define-operation.js';
import { defaultAccount, encodeContent } from '../src/transport/request.js';
import { leavesOf, valueAt } from '../src/util/objects.js';
import { parsedBody } from './cloud.js';
import type { OwnCloud, Reply } from './own-cloud.js';
import { closingFor, inChat, inClient, type Line, pays, saysBefore } from './person.js';
import { EvaluationProblem } from './problem.js';
import { anyToken, type ExpectedRequest, fates, patternOf, type Situation } from './situation.js';

/** The situations of a user's own operations: from the operations themselves, or from a file of JSON. */

export interface OwnSituationsOptions {
  /** Path of the file or folder of operations. */
  readonly operations: string;
  /** Path of a file of situations. Without it, the situations are made from the operations. */
  readonly situations: string | undefined;
  /** Address of a cloud for tests. Without it, a stand-in answers. */
  readonly address: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
}

const expectedCall = z.strictObject({
  tool: z.string(),
  arguments: z.record(z.string(), z.unknown()),
  outcome: z.enum(fates).optional(),
});
const situationSchema = z.strictObject({
  name: z.string().min(1).max(100),
  task: z.string().min(1),
  /** The person's answer to the server's question. Without it, the client cannot ask, and the person agrees in the chat. */
  decision: z.enum(['accept', 'decline']).optional(),
  expected: z.array(expectedCall),
  answer: z.record(z.string(), z.string()).default({}),
  replies: z
    .record(
      z.string(),
      z.strictObject({ status: z.int().min(200).max(599).default(200), body: z.string().default('') }),
    )
    .default({}),
});
const situationsFile = z.array(situationSchema).min(1);
type OwnSituation = z.output<typeof situationSchema>;

/** @throws EvaluationProblem */
export async function ownSituations(options: OwnSituationsOptions): Promise<readonly Situation[]> {
  const { operations: path, situations: file } = options;
  const { operations, problems } = await loadOperationFiles(path);
  if (problems.length > 0) throw new EvaluationProblem(problems.map(({ text }) => text).join('\n'));
  if (operations.length === 0) throw new EvaluationProblem(`${path} has no operations.`);
  const cloud = ownCloud(operations, options);
  const own = file === undefined ? operations.flatMap(situationsOf) : await readSituations(file);
  return Promise.all(own.map((situation) => situationFrom(situation, operations, cloud)));
}

/** For a read, the request of its example. For a change, its plan and the consent to it, and a refusal. */
function situationsOf(operation: Operation): readonly OwnSituation[] {
  const { name, title, effect } = operation;
  const example = exampleOf(operation);
  if (example === undefined) throw new EvaluationProblem(`${name} needs an example in its file.`);
  const task = `${title}. Use these values and no others: ${JSON.stringify(example)}`;
  const situation = { task, expected: [{ tool: name, arguments: example }], answer: {}, replies: {} };
  return effect === 'read'
    ? [{ ...situation, name }]
    : [
        { ...situation, name: `${name}: plan and agree` },
        { ...situation, name: `${name}: a refusal`, decision: 'decline' },
      ];
}

async function readSituations(file: string): Promise<readonly OwnSituation[]> {
  try {
    return situationsFile.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    const reason = error instanceof z.ZodError ? z.prettifyError(error) : String(error);
    throw new EvaluationProblem(`The situations of ${file} cannot be used: ${reason}`);
  }
}

async function situationFrom(
  { name, task, decision, expected, answer, replies }: OwnSituation,
  operations: readonly Operation[],
  cloud: OwnCloud,
): Promise<Situation> {
  const calls = expected.map(({ tool, arguments: given, outcome }) => {
    const operation = operations.find((one) => one.name === tool);
    if (operation === undefined) throw new EvaluationProblem(`${name}: there is no tool ${JSON.stringify(tool)}.`);
    const fate = outcome ?? (decision === 'decline' ? 'nothing' : 'accepted');
    return { operation, given, fate };
  });
  const changes = calls.filter(({ operation }) => operation.effect !== 'read');
  const reads = calls.filter(({ operation }) => operation.effect === 'read');
  const sent = changes.filter(({ fate }) => fate !== 'nothing');
  const requests = (of: typeof calls) =>
    Promise.all(of.map(({ operation, given }) => requestOf(name, operation, given, cloud)));
  return {
    name,
    about: '',
    ownCloud: { ...cloud, replies: { ...cloud.replies, ...replies } },
    person: {
      task,
      lines: decision === undefined ? changes.flatMap(({ operation, given }) => linesAbout(operation, given)) : [],
      otherwise: decision === undefined ? inChat : inClient,
      ...(decision !== undefined && { decides: () => decision }),
      ...(changes.length > 0 && { closing: closingFor(...changes.map(({ operation }) => operation.name)) }),
    },
    expected: {
      sent: await requests(sent),
      requested: await requests(reads),
      asked: Object.fromEntries(changes.map(({ operation, fate }) => [operation.name, { tool: operation.name, fate }])),
      answer: Object.fromEntries(Object.entries(answer).map(([what, pattern]) => [what, patternFrom(name, pattern)])),
    },
  };
}

function patternFrom(situation: string, pattern: string): RegExp {
  try {
    return new RegExp(pattern, 'i');
  } catch (error) {
    throw new EvaluationProblem(`${situation}: ${error instanceof Error ? error.message : 'a pattern cannot be read'}`);
  }
}

/** The person agrees to a plan that names the resource and the costs, and asks for it otherwise. */
function linesAbout({ change }: Operation, given: Readonly<Record<string, unknown>>): readonly Line[] {
  const paths = change?.identifies ?? change?.named ?? [];
  const identifying = paths.flatMap((path) => namesIn(valueAt(given, path)));
  const names = identifying.length > 0 ? identifying : namesIn(Object.values(given)).slice(0, 3);
  const costs = change?.costsMoney === true ? [pays] : [];
  return [
    {
      when: saysBefore(...names.map((name) => new RegExp(patternOf(name))), ...costs),
      say: 'Yes, go ahead with that.',
      permits: true,
    },
    { when: saysBefore(/./), say: 'Show me the whole plan first: what is changed, and whether it costs anything.' },
  ];
}

/** The texts in a value that an answer can be expected to repeat. */
const namesIn = (value: unknown): readonly string[] =>
  [...leavesOf({ value })].flatMap(([, leaf]) => (typeof leaf === 'string' && leaf.length <= 60 ? [leaf] : []));

const keyId = 'EXAMPLE';

/** The request of an operation, as it must reach the cloud. */
async function requestOf(
  situation: string,
  operation: Operation,
  given: Readonly<Record<string, unknown>>,
  { address }: OwnCloud,
): Promise<ExpectedRequest> {
  const parsed = operation.input().safeParse(given);
  if (!parsed.success)
    throw new EvaluationProblem(
      `${situation}: ${operation.name} refuses the arguments: ${z.prettifyError(parsed.error)}`,
    );
  const wanted = await operation.request(parsed.data, undefined, operation.takesToken === true ? anyToken : undefined);
  const cloud = {
    account: defaultAccount,
    region: 'jp-east-1',
    keys: fixedKeys({ accessKeyId: keyId, secretAccessKey: keyId }),
    endpoints: { [operation.service]: address?.href ?? 'http://127.0.0.1' },
    signingServices: {},
    storageHeaders: 'amz',
  } as const;
  const { method, target, headers, content } = wireRequest(operation, wanted, resolveEndpoint(cloud, operation));
  const body = content === undefined ? '' : (encodeContent(content).text ?? '');
  return { method, path: target, headers, body: parsedBody(body) };
}

/** @throws EvaluationProblem */
function ownCloud(
  operations: readonly Operation[],
  { operations: path, address, env }: OwnSituationsOptions,
): OwnCloud {
  const prefixed = operations.find(({ hostPrefix }) => hostPrefix !== undefined);
  if (prefixed !== undefined)
    throw new EvaluationProblem(`${prefixed.name} has a beginning of the host, and the address here is 127.0.0.1.`);
  const url = address === undefined ? undefined : addressFrom(address);
  const changes = operations.filter(({ effect }) => effect !== 'read');
  return {
    settings: {
      OPERATIONS: resolve(path),
      TOOLS: operations.map(({ name }) => name).join(','),
      ...(url === undefined ? { ACCESS_KEY_ID: keyId, SECRET_ACCESS_KEY: keyId } : keysIn(env)),
    },
    endpointSettings: [...new Set(operations.map(({ service }) => endpointSetting(service)))],
    address: url,
    replies: Object.fromEntries(operations.map(({ name, answer }) => [name, usualReplies[answer]])),
    changes: Object.fromEntries(changes.map(({ name, method }) => [name, method])),
  };
}

/** Answers of the stand-in: the smallest of each format. */
const usualReplies: Readonly<Record<Operation['answer'], Reply>> = {
  json: { status: 200, body: '{}' },
  jsonText: { status: 200, body: '{}' },
  xml: { status: 200, body: '<Answer/>' },
  text: { status: 200, body: '' },
  xmlText: { status: 200, body: '<Answer/>' },
  none: { status: 200, body: '' },
};

function addressFrom(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.search !== '' || url.username !== '')
    throw new EvaluationProblem(`--endpoint takes an address such as http://127.0.0.1:8000, not ${text}.`);
  return url;
}

const keySettings = ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY'] as const;
const furtherSettings = ['SESSION_TOKEN', 'REGION', 'STORAGE_HEADERS'] as const;

/** The keys for an address, from the server's own settings. */
function keysIn(env: OwnSituationsOptions['env']): Record<string, string> {
  const given = [...keySettings, ...furtherSettings].flatMap((name) => {
    const value = env[`CLOUDOPS_${name}`];
    return value ? [[name, value] as const] : [];
  });
  const missing = keySettings.filter((name) => !given.some(([one]) => one === name));
  if (missing.length > 0)
    throw new EvaluationProblem(`--endpoint needs keys: ${missing.map((name) => `CLOUDOPS_${name}`).join(' and ')}.`);
  return Object.fromEntries(given);
}
