import { CreateBucketCommand, CreateMultipartUploadCommand, S3Client } from '@aws-sdk/client-s3';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { afterAll, beforeAll, inject } from 'vitest';
import * as z from 'zod';
import { cleanEnv, serverPath } from '../support/server-process.js';
import { settingsOf } from './start.js';

/** The object store that start.ts has started, a client of another make that writes to it, and the server on it. */
export const store = inject('store');

export const s3 = new S3Client({ ...store, forcePathStyle: true, credentials: store });

/** Starts a multipart upload. Returns its upload ID. */
export const startUpload = async (bucket: string, key: string) =>
  (await s3.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }))).UploadId ?? '';

/** What every answer has. `answer` is what the service says, apart from what the server adds. */
const answered = z.object({
  answer: z.record(z.string(), z.unknown()).default({}),
  attempts: z.array(z.object({ result: z.string(), waitedMs: z.number().optional() })).optional(),
});

export interface Result extends z.output<typeof answered> {
  readonly isError: boolean;
  readonly structured: unknown;
  readonly text: string;
}

/** An MCP client of the built server over stdio, with some settings changed. */
export async function connect(env: Record<string, string> = {}) {
  const client = new Client({ name: 'test', version: '1' });
  const { NODE_OPTIONS: _, ...inherited } = cleanEnv();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [serverPath],
    env: { ...inherited, ...settingsOf(store), ...env },
    stderr: 'ignore',
  });
  await client.connect(transport);
  return {
    close: () => client.close(),
    /** Ends the server as a power cut would. */
    kill: () => process.kill(transport.pid ?? 0, 'SIGKILL'),
    call: async (name: string, args: Record<string, unknown>): Promise<Result> => {
      // A plan of 1,000 uploads reads each of them, which takes long on a busy machine.
      const result = await client.callTool({ name, arguments: args }, { timeout: 240_000 });
      const [block] = result.content;
      return {
        isError: result.isError ?? false,
        structured: result.structuredContent,
        text: block?.type === 'text' ? block.text : '',
        ...answered.parse(result.structuredContent ?? {}),
      };
    },
  };
}

/** The server for the tests of a file, and a bucket of theirs. */
export function useServer(bucket: string, env: Record<string, string> = {}) {
  let server: Awaited<ReturnType<typeof connect>>;
  beforeAll(async () => {
    await s3.send(new CreateBucketCommand({ Bucket: bucket }));
    server = await connect(env);
  });
  afterAll(async () => {
    await server.close();
    s3.destroy();
  });
  return { call: (name: string, args: Record<string, unknown>) => server.call(name, args) };
}
