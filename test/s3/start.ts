import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import * as z from 'zod';
import { cleanEnv, serverPath } from '../support/server-process.js';

/** Where a store is, and the keys that it takes. */
export interface Store {
  readonly name: string;
  readonly endpoint: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Keys of a second account, where the store has one. */
  readonly other?: { readonly accessKeyId: string; readonly secretAccessKey: string };
}

declare module 'vitest' {
  interface ProvidedContext {
    store: Store;
  }
}

interface Started extends Omit<Store, 'name'> {
  stop(): void | Promise<void>;
}

/** Starts the store that the project is named after, such as `s3:swift`, for its tests. */
export default async function startStore({ name: project, provide }: TestProject) {
  const name = project.slice('s3:'.length);
  const { stop, ...store } = await (name === 'sandbox' ? startSandbox() : startReal(name));
  provide('store', { name, ...store });
  return stop;
}

/** The settings with which our server calls a store. */
export const settingsOf = (store: Omit<Store, 'name'>) => ({
  CLOUDOPS_STORAGE_URL: store.endpoint,
  CLOUDOPS_STORAGE_HEADERS: 'amz',
  CLOUDOPS_REGION: store.region,
  CLOUDOPS_ACCESS_KEY_ID: store.accessKeyId,
  CLOUDOPS_SECRET_ACCESS_KEY: store.secretAccessKey,
});

const printed = z.object({
  S3_ENDPOINT: z.string(),
  S3_REGION: z.string(),
  S3_ACCESS_KEY: z.string(),
  S3_SECRET_KEY: z.string(),
  S3_OTHER_ACCESS_KEY: z.string().optional(),
  S3_OTHER_SECRET_KEY: z.string().optional(),
});

/**
 * Starts a store with its script, whose last line is `S3_ENDPOINT=… S3_REGION=… S3_ACCESS_KEY=… S3_SECRET_KEY=…`.
 * @param variables of the script: its folder and ports, where another may run at the same time
 */
export function startReal(name: string, variables: Readonly<Record<string, string>> = {}): Started {
  const script = (verb: string) => fileURLToPath(new URL(`${verb}-${name}.sh`, import.meta.url));
  const env = { ...process.env, ...variables };
  const output = execFileSync(script('start'), { encoding: 'utf8', env, stdio: ['ignore', 'pipe', 'inherit'] });
  const pairs = output.trim().split('\n').at(-1)?.split(' ') ?? [];
  const settings = printed.parse(
    Object.fromEntries(pairs.map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)])),
  );
  return {
    endpoint: settings.S3_ENDPOINT,
    region: settings.S3_REGION,
    accessKeyId: settings.S3_ACCESS_KEY,
    secretAccessKey: settings.S3_SECRET_KEY,
    ...otherOf(settings),
    stop: () => void execFileSync(script('stop'), { env, stdio: 'inherit' }),
  };
}

function otherOf({ S3_OTHER_ACCESS_KEY: accessKeyId, S3_OTHER_SECRET_KEY: secretAccessKey }: z.output<typeof printed>) {
  return accessKeyId === undefined || secretAccessKey === undefined ? {} : { other: { accessKeyId, secretAccessKey } };
}

const variables = z.object({
  CLOUDOPS_STORAGE_URL: z.string(),
  CLOUDOPS_ACCESS_KEY_ID: z.string(),
  CLOUDOPS_SECRET_ACCESS_KEY: z.string(),
});

async function startSandbox(): Promise<Started> {
  const child = spawn(process.execPath, [serverPath, 'sandbox', '--json'], {
    env: cleanEnv(),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'exit');
  const [line] = await Promise.race([once(createInterface(child.stdout), 'line'), ended]);
  if (typeof line !== 'string') throw new Error('the sandbox ended');
  const settings = variables.parse(JSON.parse(line));
  return {
    endpoint: settings.CLOUDOPS_STORAGE_URL,
    region: 'jp-east-1',
    accessKeyId: settings.CLOUDOPS_ACCESS_KEY_ID,
    secretAccessKey: settings.CLOUDOPS_SECRET_ACCESS_KEY,
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}
