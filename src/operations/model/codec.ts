import type { ApiRequest } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
import { hasTrait, isIdempotencyToken, type Model, type ModelOperation } from './model.js';
import type { LoadedProtocol, ProtocolAnswer, ProtocolRequest } from './protocol.js';
import { schemasOf } from './sdk-schema.js';

type Values = Readonly<Record<string, unknown>>;

/** Encodes the requests of a model's operations, and decodes their answers. Values have the names of members of the model. */
export interface Codec {
  /**
   * Makes a request. Times are `Date`, blobs are bytes.
   * @param token idempotency token, if the operation takes one and the request is about to be sent
   * @throws Error for values that the protocol cannot hold
   */
  encode(operation: ModelOperation, values: Values, token?: string): Promise<ApiRequest>;
  /** Reads the answer of a request that succeeded. Undefined if it does not have the format of the protocol. */
  decode(operation: ModelOperation, answer: ProtocolAnswer): Promise<Values | undefined>;
}

/** Makes the codec of a model. The libraries are loaded with the first request. */
export function createCodec(model: Model): Codec {
  const schemaOf = schemasOf(model);
  const loadProtocol = lazy(async (): Promise<LoadedProtocol> => {
    const { createProtocol } = await import('./protocol.js');
    return createProtocol(model.service);
  });
  return {
    encode: async (operation, values, token) => {
      refuseEmptyLabels(operation, values);
      const protocol = await loadProtocol();
      const request = await protocol.serialize(schemaOf(operation), withToken(operation, values, token));
      const body = isWithoutPayload(model, operation, values) ? undefined : request.body;
      return apiRequest(operation, { ...request, body });
    },
    decode: async (operation, answer) => {
      const protocol = await loadProtocol();
      // The protocols have many errors for text that is not theirs, such as a SyntaxError for an HTML page.
      const values = await protocol.deserialize(schemaOf(operation), answer).catch(() => undefined);
      return values && knownMembers(operation, values);
    },
  };
}

/** Adds the idempotency token, if the operation takes one. */
function withToken({ input }: ModelOperation, values: Values, token: string | undefined): Values {
  const member = input.members.find(isIdempotencyToken);
  return member === undefined || token === undefined ? values : { [member.name]: token, ...values };
}

/** Drops other fields, which the protocols return if the output has no members. */
const knownMembers = ({ output }: ModelOperation, values: Values): Values =>
  Object.fromEntries(output.members.flatMap(({ name }) => (values[name] == null ? [] : [[name, values[name]]])));

/**
 * Refuses empty values in the path. Without the last label, `DELETE /{Bucket}/{Key}` addresses the bucket.
 * @throws Error
 */
function refuseEmptyLabels({ input }: ModelOperation, values: Values): void {
  for (const { name, traits } of input.members)
    if (hasTrait(traits, 'smithy.api#httpLabel') && (values[name] ?? '') === '')
      throw new Error(`${name} is a part of the path, and must not be empty`);
}

/** True if the body is a union without a value. Such a union has no JSON, but the protocol would send an empty object. */
const isWithoutPayload = ({ shape }: Model, { input }: ModelOperation, values: Values): boolean =>
  input.members.some(
    ({ name, target, traits }) =>
      hasTrait(traits, 'smithy.api#httpPayload') && shape(target).kind === 'union' && values[name] === undefined,
  );

const requiresChecksum = ({ traits }: ModelOperation): boolean =>
  hasTrait(traits, 'smithy.api#httpChecksumRequired') ||
  Object(traits['aws.protocols#httpChecksum']).requestChecksumRequired === true;

function apiRequest(operation: ModelOperation, { path, query, headers, body }: ProtocolRequest): ApiRequest {
  const { 'content-type': contentType, ...others } = headers;
  return {
    path,
    query,
    headers: others,
    ...(body !== undefined && {
      body: {
        kind: 'text',
        text: body,
        ...(contentType !== undefined && { contentType }),
        ...(requiresChecksum(operation) && { contentMd5: true }),
      },
    }),
  };
}
