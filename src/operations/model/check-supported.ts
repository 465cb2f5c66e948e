import * as z from 'zod';
import { quote } from '../../util/quote.js';
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

/** @throws ModelError if this server cannot make the requests or read the answers. The message says what to do instead */
export function checkSupported(model: Model, operation: ModelOperation): void {
  for (const member of [...operation.input.members, ...operation.output.members]) refuseStreams(model, member);
  for (const { name, traits } of operation.input.members) {
    if (hasTrait(traits, 'smithy.api#hostLabel'))
      throw new ModelError(`its argument ${name} is a part of the host, and no argument may choose the host`);
  }
  refusePath(operation);
  for (const member of operation.input.members) refuseHeaders(member);
  refuseSignatures(operation);
  readShapes(model, operation);
}

/** Returns the fixed beginning of the host, such as `api.`, if the model has one. */
export const hostPrefixOf = ({ id, traits }: ModelOperation): string | undefined =>
  readTrait(traits, 'smithy.api#endpoint', endpointTrait, id)?.hostPrefix;
const endpointTrait = z.object({
  hostPrefix: z
    .string()
    .max(128)
    .regex(/^([a-z0-9-]{1,63}\.){0,3}[a-z0-9-]{1,62}[.-]$/, 'must be the beginning of a host name, such as api.'),
});

/**
 * Headers that no argument may set: this server or its HTTP client sets them, or they concern a single connection (RFC 9110, section 7.6.1).
 * `expect` is not supported.
 */
const fixedHeaders: readonly string[] = [
  ...['authorization', 'host', 'content-length', 'content-md5', 'expect'],
  ...['amz', 'ext'].flatMap((vendor) =>
    ['date', 'security-token', 'content-sha256'].map((name) => `x-${vendor}-${name}`),
  ),
  ...['connection', 'keep-alive', 'proxy-authorization', 'proxy-authenticate', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
];
const checksumHeader = /^x-amz-checksum-(?!mode$)/i;

/** True if a member is no argument, because this server sets it: the idempotency token, a checksum or a fixed header. */
export function isSetByServer({ traits }: ModelOperation, member: Member): boolean {
  if (isIdempotencyToken(member)) return true;
  if (Object(traits['aws.protocols#httpChecksum']).requestAlgorithmMember === member.name) return true;
  const header = member.traits['smithy.api#httpHeader'];
  return typeof header === 'string' && (fixedHeaders.includes(header.toLowerCase()) || checksumHeader.test(header));
}

/**
 * The segments of a path: a label such as `{Key+}`, also with a verb (`{Id}:reboot`), or a fixed text that is no "." or "..", which addresses
 * another resource.
 */
const pathSegment = /^(?:\{\w+\+?\}|\{\w+\}:[A-Za-z]\w*|(?!\.{1,2}(?:;|$))[\w!$&'()*+,;=:@~.-]*)$/;

function refusePath({ http }: ModelOperation): void {
  const [path = ''] = http.uri.split('?');
  const [beginning, ...segments] = path.split('/');
  if (beginning !== '' || !segments.every((segment) => pathSegment.test(segment)))
    throw new ModelError(`its path ${quote(path, 200)} is no path whose arguments are whole segments`);
}

/** Matches the name of a header (RFC 9110, section 5.1). */
const headerName = /^[\w!#$%&'*+.^`|~-]{1,128}$/;

/** @throws ModelError for a member that is no header, or for headers with a prefix among which are some that no argument may set */
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

/** Reads every shape of the input and the output, so that an invalid shape is refused now and not during a call. */
function readShapes(model: Model, { input, output }: ModelOperation): void {
  const ids = new Set([input.id, output.id]);
  // The loop also visits IDs that it adds, and visits each ID once. So it ends, although shapes may contain themselves.
  for (const id of ids) {
    refuseEndlessNesting(model, id);
    for (const { target } of membersOf(model, id)) ids.add(target);
  }
}

/** @throws ModelError for a list or map that contains itself without a structure between, because only absent members can end a nesting */
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
