import type { $OperationSchema, $Schema, $SchemaRef, SchemaTraitsObject } from '@smithy/types';
import * as z from 'zod';
import {
  hasTrait,
  type Member,
  type ModelOperation,
  readTrait,
  type Shape,
  type SimpleType,
  shapeName,
  type Traits,
  textTrait,
} from './model.js';

/** Numbers of the kinds of schemas in AWS's SDKs. */
const kinds = { simple: 0, list: 1, map: 2, structure: 3, union: 4 } as const;

const typeNumbers: Readonly<Record<SimpleType, number>> = {
  string: 0,
  boolean: 2,
  byte: 1,
  short: 1,
  integer: 1,
  long: 1,
  float: 1,
  double: 1,
  bigInteger: 17,
  bigDecimal: 19,
  blob: 21,
  document: 15,
  timestamp: 4,
};

/** The type that reads simple values as they came. `document` would convert big numbers in JSON, and `string` would refuse XML elements. */
const unconvertedTypeNumber = { json: typeNumbers.string, xml: typeNumbers.document };

const timestampNumbers: Readonly<Record<string, number>> = { 'date-time': 5, 'http-date': 6, 'epoch-seconds': 7 };

/**
 * Returns the function that makes the schema of an operation for AWS's SDKs.
 * @param use `request`, or the format of an answer, whose values stay as they came because the protocols would round large integers
 */
export function operationSchemasOf(
  use: 'request' | keyof typeof unconvertedTypeNumber,
): (operation: ModelOperation) => $OperationSchema {
  const converted = new Map<Shape, $Schema>();
  const isUnconverted = use !== 'request';

  const makeSchema = (shape: Shape): $Schema => {
    const { id } = shape;
    if (id === 'smithy.api#Unit') return 'unit';
    const namespace = namespaceOf(id);
    const name = shapeName(id);
    const traits = protocolTraits(shape.traits, id);
    switch (shape.kind) {
      case 'list':
        return [kinds.list, namespace, name, traits, memberReference(shape.element)];
      case 'map':
        return [kinds.map, namespace, name, traits, memberReference(shape.key), memberReference(shape.element)];
      case 'structure': {
        const memberNames = shape.members.map((member) => member.name);
        const kind = shape.isUnion ? kinds.union : kinds.structure;
        return [kind, namespace, name, traits, memberNames, shape.members.map(memberReference)];
      }
      default: {
        const type = isUnconverted ? unconvertedTypeNumber[use] : typeNumbers[shape.type];
        return [kinds.simple, namespace, name, traits, type];
      }
    }
  };

  /** A function, because a shape may contain itself. */
  const shapeReference = (shape: Shape) => (): $Schema => {
    const schema = converted.get(shape) ?? makeSchema(shape);
    converted.set(shape, schema);
    return schema;
  };

  const memberReference = ({ name, ownTraits, traits, shape }: Member): $SchemaRef => {
    // A simple value that is the whole body keeps its type, because the protocol would parse a body of another type.
    const isWholeBody = hasTrait(ownTraits, 'smithy.api#httpPayload') && 'type' in shape;
    const ofAnswer = isWholeBody ? typeNumbers[shape.type] : undefined;
    const ofRequest = timestampNumbers[textTrait(traits, 'smithy.api#timestampFormat') ?? ''];
    return [(isUnconverted ? ofAnswer : ofRequest) ?? shapeReference(shape), protocolTraits(ownTraits, name)];
  };

  return ({ id, name, http, input, output, traits }) => ({
    namespace: namespaceOf(id),
    name,
    traits: { ...protocolTraits(traits, id), http: [http.method, http.uri, http.code] },
    input: shapeReference(input),
    output: shapeReference(output),
  });
}

const namespaceOf = (id: string): string => id.slice(0, id.indexOf('#'));

const flagTraits = 'httpLabel httpPayload httpResponseCode httpQueryParams xmlAttribute xmlFlattened sparse'.split(' ');
const textTraits = 'httpHeader httpQuery httpPrefixHeaders xmlName jsonName mediaType'.split(' ');
const namespaceTrait = z.object({ uri: z.string(), prefix: z.string().default('') });

/**
 * Returns the traits that affect requests and answers. Leaves out the trait for idempotency tokens, because the protocols
 * would make up a random token.
 */
function protocolTraits(traits: Traits, place: string): SchemaTraitsObject {
  const converted: SchemaTraitsObject = {};
  for (const name of flagTraits) {
    if (hasTrait(traits, `smithy.api#${name}`)) converted[name] = 1;
  }
  for (const name of textTraits) {
    const value = textTrait(traits, `smithy.api#${name}`);
    if (value !== undefined) converted[name] = value;
  }
  const namespace = readTrait(traits, 'smithy.api#xmlNamespace', namespaceTrait, place);
  if (namespace !== undefined) converted.xmlNamespace = [namespace.prefix, namespace.uri];
  const ec2Name = textTrait(traits, 'aws.protocols#ec2QueryName');
  if (ec2Name !== undefined) converted.ec2QueryName = ec2Name;
  return converted;
}
