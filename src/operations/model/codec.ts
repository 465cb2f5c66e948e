import type { ApiRequest } from '../../tools/define-operation.js';
import { lazy } from '../../util/objects.js';
import { hasTrait, isIdempotencyToken, type Model, type ModelOperation } from './model.js';
import type { LoadedProtocol, ProtocolAnswer, ProtocolRequest } from './protocol.js';
import { operationSchemasOf } from './sdk-schema.js';

type Values = Readonly<Record<string, unknown>>;

/** Encodes the requests of a model's operations, and decodes their answers. Both use the names of members in the model. */
export interface Codec {
  /**
   * Makes a request. Times are `Date`, blobs are bytes.
   * @param idempotencyToken undefined for a request that is only planned, or if the operation takes no such token
   * @throws Error for values that the protocol cannot hold
   */
  encode(operation: ModelOperation, values: Values, idempotencyToken?: string): Promise<ApiRequest>;
  /** Reads the answer to a request that succeeded. Returns undefined if the answer cannot be read, or a trait of the operation is invalid. */
  decode(operation: ModelOperation, answer: ProtocolAnswer): Promise<Values | undefined>;
}

/** Makes the codec of a model. The libraries of the protocols are loaded with the first request. */
export function createCodec(model: Model): Codec {
  const schemaOf = operationSchemasOf(model);
  const loadProtocol = lazy(async (): Promise<LoadedProtocol> => {
    const { createProtocol } = await import('./protocol.js');
    return createProtocol(model.service);
  });
  return {
    encode: async (operation, values, idempotencyToken) => {
      refuseEmptyLabels(operation, values);
      const protocol = await loadProtocol();
      const valuesToSend = withIdempotencyToken(operation, values, idempotencyToken);
      const request = await protocol.serialize(schemaOf(operation), valuesToSend);
      // If the body is a union that is not given, the protocols write an empty object, which is no valid union.
      const body = isUnionBodyMissing(model, operation, values) ? undefined : request.body;
      return apiRequest(operation, { ...request, body });
    },
    decode: async (operation, answer) => {
      try {
        const protocol = await loadProtocol();
        const values = await protocol.deserialize(schemaOf(operation), answer);
        // If the output has no members, the protocols return every field of the answer, even though the model describes none.
        return knownMembers(operation, values);
      } catch {
        // The protocols throw many kinds of errors for an answer in another format, such as a SyntaxError for an HTML page.
        return undefined;
      }
    },
  };
}

/** Adds the idempotency token if the operation takes one. A token among the values has priority. */
function withIdempotencyToken({ input }: ModelOperation, values: Values, token: string | undefined): Values {
  const member = input.members.find(isIdempotencyToken);
  return member === undefined || token === undefined ? values : { [member.name]: token, ...values };
}

/** Keeps only the members of the output. */
const knownMembers = ({ output }: ModelOperation, values: Values): Values =>
  Object.fromEntries(output.members.flatMap(({ name }) => (values[name] == null ? [] : [[name, values[name]]])));

/** @throws Error for an empty value in the path. With an empty key, for example, `DELETE /{Bucket}/{Key}` would delete the bucket */
function refuseEmptyLabels({ input }: ModelOperation, values: Values): void {
  for (const { name, traits } of input.members) {
    const isEmpty = values[name] === undefined || values[name] === null || values[name] === '';
    if (isEmpty && hasTrait(traits, 'smithy.api#httpLabel'))
      throw new Error(`${name} is a part of the path, and must not be empty`);
  }
}

/** True if the body of the request is a union, the member with the trait `httpPayload`, that is not given. */
const isUnionBodyMissing = ({ shape }: Model, { input }: ModelOperation, values: Values): boolean =>
  input.members.some(
    ({ name, target, traits }) =>
      hasTrait(traits, 'smithy.api#httpPayload') && shape(target).kind === 'union' && values[name] === undefined,
  );

const requiresChecksum = ({ traits }: ModelOperation): boolean =>
  hasTrait(traits, 'smithy.api#httpChecksumRequired') ||
  Object(traits['aws.protocols#httpChecksum']).requestChecksumRequired === true;

/** Converts the request of a protocol to the form of this server, in which the content type is a part of the body. */
function apiRequest(operation: ModelOperation, { path, query, headers, body }: ProtocolRequest): ApiRequest {
  const { 'content-type': contentType, ...otherHeaders } = headers;
  const withoutBody = { path, query, headers: otherHeaders };
  if (body === undefined) return withoutBody;
  return {
    ...withoutBody,
    body: {
      kind: 'text',
      text: body,
      ...(contentType !== undefined && { contentType }),
      ...(requiresChecksum(operation) && { contentMd5: true }),
    },
  };
}
