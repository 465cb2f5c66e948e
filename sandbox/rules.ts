import { isIP, SocketAddress } from 'node:net';
import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { parseObject, ServiceError } from './http.js';

/** This file has parts of the rules for request bodies. They share no code with the client, so that a mistake on either side shows up. */

/** A text that docs/API.md does not require. If it is missing, the sandbox uses the empty text, which its answers show. */
export const text = z.string().default('');

/** Accepts only the texts of a documented list. */
export const oneOf = (...values: readonly string[]) =>
  z.string().refine((value) => values.includes(value), `must be one of ${values.join(', ')}`);

/** Lowercase letters, digits and hyphens, with no hyphen at the start or the end. */
const nameForm = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
export const name = (minimum: number, maximum: number) => z.string().min(minimum).max(maximum).regex(nameForm);

export const address = z.string().refine((value) => isIP(value) !== 0, 'must be an IP address');

/** True unless two values are the same IP address, perhaps in different spellings such as `::1` and `0:0:0:0:0:0:0:1`. */
export function areDistinctAddresses(first: unknown, second: unknown): boolean {
  const canonical = (value: unknown) =>
    typeof value === 'string' && isIP(value) === 6
      ? new SocketAddress({ address: value.replace(/%.*/, ''), family: 'ipv6' }).address
      : value;
  return canonical(first) !== canonical(second);
}

/** Converts a table of sizes with their memory options in GB, such as `{ large: '8 16' }`, to server types: `large8`, `large16`. */
export const serverTypes = (sizes: Readonly<Record<string, string>>): string[] =>
  Object.entries(sizes).flatMap(([size, memory]) => memory.split(' ').map((gigabytes) => size + gigabytes));

/** Parses a JSON body. Throws a `ServiceError` whose code names the first field that breaks a rule, and whose message names them all. */
export function readInput<T>(rules: z.ZodType<T>, body: Buffer): T {
  const fields = parseObject(body.toString('utf8'));
  if (fields === undefined) throw refuse(400, 'InvalidParameterIllegalInput.Body', 'The body is not a JSON object.');
  const { data, error, success } = rules.safeParse(fields);
  if (success) return data;

  // zod reports all unknown fields of an object as one issue, which becomes one problem for each field.
  const problems = error.issues.flatMap(({ path, message, ...issue }) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: [...path, key], message: 'is not a field here' }))
      : [{ path, message }],
  );

  // The path `adminCluster.nodePools.0.name` becomes `AdminClusterNodePoolsName` in the error code.
  const wordsOfPath = problems[0]?.path.join(' ').match(/[A-Za-z]+/g) ?? ['Body'];
  const fieldName = wordsOfPath.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  // The message leaves out values because they may be secret.
  const lines = problems.map(({ path, message }) => `${toDotPath(path)}: ${message}.`);
  throw refuse(400, `InvalidParameterIllegalInput.${fieldName}`, lines.join(' '));
}

/** Creates an error of the catalog or DevOps API. docs/API.md has no error codes, so these follow similar services. */
export const refuse = (status: number, code: string, message: string) =>
  new ServiceError(status, `Client.${code}`, message);

export const duplicate = (what: string, message: string) => refuse(409, `InvalidParameterDuplicate.${what}`, message);
export const notFound = (what: string, message: string) => refuse(404, `InvalidParameterNotFound.${what}`, message);
