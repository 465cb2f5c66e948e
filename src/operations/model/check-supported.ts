import * as z from 'zod';
import {
  hasTrait,
  isIdempotencyToken,
  type Member,
  type Model,
  ModelError,
  type ModelOperation,
  readTrait,
} from './model.js';

/**
 * Checks that requests of an operation can be made, and reads every shape that the operation uses.
 * @throws ModelError that says what is not supported, and what to do instead
 */
export function checkSupported(model: Model, operation: ModelOperation): void {
  for (const member of [...operation.input.members, ...operation.output.members]) refuseStreams(model, member);
  for (const { name, traits } of operation.input.members)
    if (hasTrait(traits, 'smithy.api#hostLabel'))
      throw new ModelError(`its argument ${name} is a part of the host, and no argument may choose the host`);
  refuseSignatures(operation);
  readShapes(model, operation);
}

/**
 * The fixed beginning of the host, such as `api.`.
 * @throws ModelError
 */
export const hostPrefixOf = ({ id, traits }: ModelOperation): string | undefined =>
  readTrait(traits, 'smithy.api#endpoint', z.object({ hostPrefix: z.string() }), id)?.hostPrefix;

/** Headers that the server sets itself, or that need content which is not sent. */
const serverHeaders = ['authorization', 'host', 'content-length', 'content-md5', 'expect', 'x-amz-content-sha256'];
const checksumHeader = /^x-amz-checksum-(?!mode$)/i;

/** True if a member is no argument: the server sets the idempotency token, checksums and some headers. */
export function isSetByServer({ traits }: ModelOperation, member: Member): boolean {
  if (isIdempotencyToken(member)) return true;
  if (Object(traits['aws.protocols#httpChecksum']).requestAlgorithmMember === member.name) return true;
  const header = member.traits['smithy.api#httpHeader'];
  return typeof header === 'string' && (serverHeaders.includes(header.toLowerCase()) || checksumHeader.test(header));
}

function refuseStreams(model: Model, member: Member): void {
  if (!hasTrait(model.traitsOf(member), 'smithy.api#streaming')) return;
  const what = model.shape(member.target).kind === 'union' ? 'a stream of events' : 'a body of any length';
  throw new ModelError(
    `its member ${member.name} is ${what}, and a call holds one short text: use the cloud's own tool`,
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

/** Reads every shape of the input and the output once. */
function readShapes(model: Model, { input, output }: ModelOperation): void {
  const ids = new Set([input.id, output.id]);
  // A set can be extended while it is visited, so recursive shapes end.
  for (const id of ids) for (const { target } of membersOf(model, id)) ids.add(target);
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
