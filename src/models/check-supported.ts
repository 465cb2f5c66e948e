import * as z from 'zod';
import { quote } from '../util/quote.js';
import { isHeaderName } from './argument-schema.js';
import {
  hasTrait,
  isIdempotencyToken,
  limitsOf,
  type Member,
  type Model,
  ModelError,
  type ModelOperation,
  readTrait,
  type Shape,
  textTrait,
} from './model.js';
import { isNifcloud } from './nifcloud.js';

/**
 * Refuses an operation that this server does not support.
 * @throws ModelError that says what to do instead
 */
export function checkSupported({ service }: Model, operation: ModelOperation): void {
  const { input, output, http, traits } = operation;
  for (const member of [...input.members, ...output.members]) refuseStreams(member);
  for (const member of input.members) refuseHostAndHeaders(member);

  const [path = ''] = http.uri.split('?');
  const [beginning, ...segments] = path.split('/');
  const takesNothing = isNifcloud(service.protocol) && /[?{]/.test(http.uri);
  if (takesNothing || beginning !== '' || !segments.every((segment) => pathSegment.test(segment)))
    throw new ModelError(`its path ${quote(path, 200)} is no path whose arguments are whole segments`);

  const schemes: unknown = traits['smithy.api#auth'] ?? ['aws.auth#sigv4'];
  if (!Array.isArray(schemes) || !schemes.includes('aws.auth#sigv4'))
    throw new ModelError(
      'it is not signed with Signature Version 4, and no other request is sent: call it without this server',
    );
  readShapes(operation);
}

/** Returns the fixed beginning of the host, such as `api.`. */
export const hostPrefixOf = ({ id, traits }: ModelOperation): string | undefined =>
  readTrait(traits, 'smithy.api#endpoint', endpointTrait, id)?.hostPrefix;
const endpointTrait = z.object({
  hostPrefix: z
    .string()
    .max(128)
    .regex(/^([a-z0-9-]{1,63}\.){0,3}[a-z0-9-]{1,62}[.-]$/, 'must be the beginning of a host name, such as api.'),
});

/** Headers that this server or its HTTP client sets, or that concern a single connection (RFC 9110, section 7.6.1). */
const fixedHeaders: readonly string[] = [
  ...['authorization', 'date', 'host', 'content-length', 'content-md5', 'expect', 'x-amzn-authorization'],
  ...['amz', 'ext'].flatMap((vendor) =>
    ['date', 'security-token', 'content-sha256'].map((name) => `x-${vendor}-${name}`),
  ),
  ...['connection', 'keep-alive', 'proxy-authorization', 'proxy-authenticate', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
];

/** True if this server sets a member, so that it is no argument: the idempotency token, a checksum or a fixed header. */
export function isSetByServer({ traits }: ModelOperation, member: Member): boolean {
  if (isIdempotencyToken(member)) return true;
  if (Object(traits['aws.protocols#httpChecksum']).requestAlgorithmMember === member.memberName) return true;
  const header = member.ownTraits['smithy.api#httpHeader'];
  return (
    typeof header === 'string' &&
    (fixedHeaders.includes(header.toLowerCase()) || /^x-amz-checksum-(?!mode$)/i.test(header))
  );
}

/** A label such as `{Key+}`, or a fixed text. "." and ".." would address another resource. */
const pathSegment = /^(?:\{\w+\+?\}|\{\w+\}:[A-Za-z]\w*|(?!\.{1,2}(?:;|$))[\w!$&'()*+,;=:@~.-]*)$/;

function refuseHostAndHeaders({ name, ownTraits }: Member): void {
  if (hasTrait(ownTraits, 'smithy.api#hostLabel'))
    throw new ModelError(`its argument ${name} is a part of the host, and no argument may choose the host`);
  const header = textTrait(ownTraits, 'smithy.api#httpHeader');
  const prefix = textTrait(ownTraits, 'smithy.api#httpPrefixHeaders')?.toLowerCase();
  const isWrongName = (text: string | undefined) => text !== undefined && !isHeaderName(text);
  if (isWrongName(header) || isWrongName(prefix) || fixedHeaders.some((fixed) => fixed.startsWith(prefix ?? ' ')))
    throw new ModelError(`its argument ${name} would set headers that no argument may set`);
}

function refuseStreams({ name, traits, shape }: Member): void {
  if (!hasTrait(traits, 'smithy.api#streaming')) return;
  const content = shape.kind === 'structure' ? 'a stream of events' : 'a body of any length';
  throw new ModelError(`its member ${name} is ${content}, and a call holds one short text: use the cloud's own tool`);
}

/** Reads all shapes, so that a fault of the model is found before a call. */
function readShapes({ input, output }: ModelOperation): void {
  const shapes = new Set<Shape>([input, output]);
  // The loop also visits shapes that it adds.
  for (const shape of shapes) {
    refuseEndlessNesting(shape);
    const members =
      shape.kind === 'structure'
        ? shape.members
        : [...('key' in shape ? [shape.key] : []), ...('element' in shape ? [shape.element] : [])];
    for (const member of members) {
      limitsOf(member);
      shapes.add(member.shape);
    }
  }
}

/** Only absent members can end a nesting. */
function refuseEndlessNesting(start: Shape): void {
  const around = new Set<Shape>();
  for (let shape = start; shape.kind === 'list' || shape.kind === 'map'; shape = shape.element.shape) {
    if (around.has(shape))
      throw new ModelError(`its ${shape.kind} ${shape.id} contains itself without a structure between`);
    around.add(shape);
  }
}
