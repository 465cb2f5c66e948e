import * as z from 'zod';
import { quote } from '../util/quote.js';
import {
  hasTrait,
  isIdempotencyToken,
  type Member,
  type Model,
  ModelError,
  type ModelOperation,
  readTrait,
  textTrait,
} from './model.js';
import { isNifcloud } from './nifcloud.js';

/**
 * Refuses an operation that this server does not support.
 * @throws ModelError that says what to do instead
 */
export function checkSupported(model: Model, operation: ModelOperation): void {
  for (const member of [...operation.input.members, ...operation.output.members]) refuseStreams(model, member);
  for (const { name, traits } of operation.input.members) {
    if (hasTrait(traits, 'smithy.api#hostLabel'))
      throw new ModelError(`its argument ${name} is a part of the host, and no argument may choose the host`);
  }
  refusePath(model, operation);
  for (const member of operation.input.members) refuseHeaders(member);
  refuseSignatures(operation);
  readShapes(model, operation);
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
const checksumHeader = /^x-amz-checksum-(?!mode$)/i;

/** True if this server sets a member, so that it is no argument: the idempotency token, a checksum or a fixed header. */
export function isSetByServer({ traits }: ModelOperation, member: Member): boolean {
  if (isIdempotencyToken(member)) return true;
  if (Object(traits['aws.protocols#httpChecksum']).requestAlgorithmMember === member.name) return true;
  const header = member.traits['smithy.api#httpHeader'];
  return typeof header === 'string' && (fixedHeaders.includes(header.toLowerCase()) || checksumHeader.test(header));
}

/** A label such as `{Key+}`, or a fixed text. "." and ".." would address another resource. */
const pathSegment = /^(?:\{\w+\+?\}|\{\w+\}:[A-Za-z]\w*|(?!\.{1,2}(?:;|$))[\w!$&'()*+,;=:@~.-]*)$/;

function refusePath({ service }: Model, { http }: ModelOperation): void {
  const [path = ''] = http.uri.split('?');
  const [beginning, ...segments] = path.split('/');
  const takesNothing = isNifcloud(service.protocol) && /[?{]/.test(http.uri);
  if (takesNothing || beginning !== '' || !segments.every((segment) => pathSegment.test(segment)))
    throw new ModelError(`its path ${quote(path, 200)} is no path whose arguments are whole segments`);
}

/** RFC 9110, section 5.1. */
const headerName = /^[\w!#$%&'*+.^`|~-]{1,128}$/;

function refuseHeaders({ name, traits }: Member): void {
  const header = textTrait(traits, 'smithy.api#httpHeader');
  const prefix = textTrait(traits, 'smithy.api#httpPrefixHeaders')?.toLowerCase();
  const isWrongName = (text: string | undefined) => text !== undefined && !headerName.test(text);
  if (isWrongName(header) || isWrongName(prefix) || fixedHeaders.some((fixed) => fixed.startsWith(prefix ?? ' ')))
    throw new ModelError(`its argument ${name} would set headers that no argument may set`);
}

function refuseStreams(model: Model, member: Member): void {
  if (!hasTrait(model.traitsOf(member), 'smithy.api#streaming')) return;
  const content = model.shape(member.target).kind === 'union' ? 'a stream of events' : 'a body of any length';
  throw new ModelError(
    `its member ${member.name} is ${content}, and a call holds one short text: use the cloud's own tool`,
  );
}

const authTrait = z.array(z.string());

function refuseSignatures({ id, traits }: ModelOperation): void {
  const schemes = readTrait(traits, 'smithy.api#auth', authTrait, id);
  if (schemes !== undefined && !schemes.includes('aws.auth#sigv4'))
    throw new ModelError(
      'it is not signed with Signature Version 4, and no other request is sent: call it without this server',
    );
}

function readShapes(model: Model, { input, output }: ModelOperation): void {
  const ids = new Set([input.id, output.id]);
  // The loop also visits IDs that it adds.
  for (const id of ids) {
    refuseEndlessNesting(model, id);
    for (const { target } of membersOf(model, id)) ids.add(target);
  }
}

/** Only absent members can end a nesting. */
function refuseEndlessNesting(model: Model, id: string): void {
  const around = new Set<string>();
  for (let shape = model.shape(id); shape.kind === 'list' || shape.kind === 'map'; ) {
    if (around.has(shape.id))
      throw new ModelError(`its ${shape.kind} ${shape.id} contains itself without a structure between`);
    around.add(shape.id);
    shape = model.shape(shape.kind === 'list' ? shape.member.target : shape.value.target);
  }
}

function membersOf(model: Model, id: string): readonly Member[] {
  const shape = model.shape(id);
  switch (shape.kind) {
    case 'structure':
    case 'union':
      return shape.members;
    case 'list':
      return [shape.member];
    case 'map':
      return [shape.key, shape.value];
    default:
      return [];
  }
}
