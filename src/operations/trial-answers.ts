import * as z from 'zod';
import type { Operation } from '../tools/define-operation.js';
import { type Body, parseBody } from '../transport/parse-body.js';
import type { FinalReply } from '../transport/signed-client.js';
import { isObject } from '../util/objects.js';

/** Records as an operation reads them from answers: a whole one, first, and others that lack fields or have odd values. */
export function trialRecords({ output, pages }: Operation): unknown[] {
  const schema: unknown = z.toJSONSchema((pages?.page ?? output)(), { io: 'output', unrepresentable: 'any' });
  const whole = sampleOf(schema, true);
  const others = variantsOf(whole, 0);
  return [whole, sampleOf(schema, false), {}, undefined, ...others];
}

/** A value of a JSON Schema, with `flag` wherever there may be true or false. */
function sampleOf(schema: unknown, flag: boolean): unknown {
  const { type, properties, items, enum: allowed, anyOf } = Object(schema);
  if (Array.isArray(allowed)) return allowed[0];
  if (Array.isArray(anyOf)) return sampleOf(anyOf[0], flag);
  if (type === 'boolean') return flag;
  if (type === 'integer' || type === 'number') return 3;
  if (type === 'array') return [sampleOf(items, flag), sampleOf(items, flag)];
  if (type !== 'object') return 'a';
  return Object.fromEntries(Object.entries(Object(properties)).map(([name, inner]) => [name, sampleOf(inner, flag)]));
}

const deepest = 4;

/** Copies of a record in which one field is missing, or has another value, at any depth that answers have. */
function variantsOf(value: unknown, depth: number): unknown[] {
  if (depth > deepest) return [];
  if (Array.isArray(value)) return [[], ...variantsOf(value[0], depth + 1).map((one) => [one])];
  if (!isObject(value)) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const { [name]: _, ...without } = value;
    const odd = [null, '', 'odd \u202e', -1, [], {}].map((other) => ({ ...value, [name]: other }));
    return [without, ...odd, ...variantsOf(field, depth + 1).map((inner) => ({ ...value, [name]: inner }))];
  });
}

const bodies: readonly string[] = [
  '{}',
  '[]',
  '[null]',
  '{"a":null,"b":[[]],"__proto__":{"c":1}}',
  '<A/>',
  '<A><B>1</B><B/></A>',
  '<Error><Code>InternalError</Code></Error>',
  '<html>sign in</html>',
  'text',
  '',
  '{"cut',
  '<cut',
];

/** Replies of a service, the first a success of the form that the operation expects. */
export function trialReplies({ answer }: Operation): FinalReply[] {
  const expected: Readonly<Record<Operation['answer'], Body>> = {
    json: { kind: 'json', value: {} },
    xml: { kind: 'xml', value: { Answer: { Field: 'a' } } },
    none: { kind: 'empty' },
  };
  const failed = [400, 403, 404, 409, 500, 503].map((status) => replyOf(status, parseBody('{"code":"Trial"}')));
  return [replyOf(200, expected[answer]), ...bodies.map((body) => replyOf(200, parseBody(body))), ...failed];
}

const replyOf = (status: number, body: Body): FinalReply => ({
  kind: 'answered',
  response: { kind: 'response', status, headers: { date: 'Thu, 01 Jan 2026 00:00:00 GMT' } },
  body,
  attempts: [{ result: String(status) }],
  endedAt: new Date('2026-01-01T00:00:00Z'),
  keyId: 'trial',
});
