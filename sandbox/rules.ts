import { isIP, SocketAddress } from 'node:net';
import * as z from 'zod';
import { toDotPath } from 'zod/v4/core';
import { parseObject, ServiceError } from './http.js';

/**
 * Parts of the rules for request bodies. They are implemented from the reference without the client's code, so that the
 * two can disagree. Fields that the reference leaves open are accepted; a missing one gets a default, which the answer
 * shows.
 */

export const text = z.string().default('');

/** Accepts a text of a documented list. */
export const oneOf = (...values: readonly string[]) =>
  z.string().refine((value) => values.includes(value), `must be one of ${values.join(', ')}`);

/** Lowercase letters, digits, and hyphens between them. */
const nameForm = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
export const name = (least: number, most: number) => z.string().min(least).max(most).regex(nameForm);

export const address = z.string().refine((value) => isIP(value) !== 0, 'must be an IP address');

/** False if two texts are the same IP address in different spellings. */
export function areDistinctAddresses(first: unknown, second: unknown): boolean {
  const canonical = (value: unknown) =>
    typeof value === 'string' && isIP(value) === 6
      ? new SocketAddress({ address: value.replace(/%.*/, ''), family: 'ipv6' }).address
      : value;
  return canonical(first) !== canonical(second);
}

/** Lists the server types of a table that maps each size to its memory options (GB). */
export const serverTypes = (sizes: Readonly<Record<string, string>>): string[] =>
  Object.entries(sizes).flatMap(([size, memory]) => memory.split(' ').map((gigabytes) => size + gigabytes));

/** Parses a body. Throws a `ServiceError` whose code names the first field that breaks a rule, and whose message names all. */
export function readInput<T>(rules: z.ZodType<T>, body: Buffer): T {
  const fields = parseObject(body.toString('utf8'));
  if (fields === undefined) throw refuse(400, 'InvalidParameterIllegalInput.Body', 'The body is not a JSON object.');
  const { data, error, success } = rules.safeParse(fields);
  if (success) return data;
  const problems = error.issues.flatMap(({ path, message, ...issue }) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: [...path, key], message: 'is not a field here' }))
      : [{ path, message }],
  );
  const firstPath = problems[0]?.path.join(' ').match(/[A-Za-z]+/g) ?? ['Body'];
  const fieldName = firstPath.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  // The message leaves out values because they may be secret.
  const lines = problems.map(({ path, message }) => `${toDotPath(path)}: ${message}.`);
  throw refuse(400, `InvalidParameterIllegalInput.${fieldName}`, lines.join(' '));
}

/** Creates an error of the catalog or DevOps API. The reference has no error codes, so these follow similar services. */
export const refuse = (status: number, code: string, message: string) =>
  new ServiceError(status, `Client.${code}`, message);

export const duplicate = (what: string, message: string) => refuse(409, `InvalidParameterDuplicate.${what}`, message);
export const notFound = (what: string, message: string) => refuse(404, `InvalidParameterNotFound.${what}`, message);
