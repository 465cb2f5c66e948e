import type { $OperationSchema, $Schema, $SchemaRef, SchemaTraitsObject } from '@smithy/types';
import * as z from 'zod';
import {
  hasTrait,
  type Member,
  type Model,
  type ModelOperation,
  readTrait,
  type Shape,
  type SimpleType,
  shapeName,
  type Traits,
  textTrait,
} from './model.js';

/** Returns the schema of an operation of a model, as the SDKs' protocols take it. Shapes are converted when they are first needed. */
export function schemasOf(model: Model): (operation: ModelOperation) => $OperationSchema {
  const known = new Map<string, $Schema>();
  const refer = (id: string): $SchemaRef => {
    return () => {
      const schema = known.get(id) ?? schemaOf(model.shape(id), member);
      known.set(id, schema);
      return schema;
    };
  };
  const member = (member: Member): $SchemaRef => {
    const traits = model.traitsOf(member);
    const format = timestampFormats[textTrait(traits, 'smithy.api#timestampFormat') ?? ''];
    return [format ?? refer(member.target), protocolTraits(member.traits, member.target)];
  };
  return ({ id, name, http, input, output, traits }) => ({
    namespace: namespaceOf(id),
    name,
    traits: { ...protocolTraits(traits, id), http: [http.method, http.uri, http.code] },
    input: refer(input.id),
    output: refer(output.id),
  });
}

const timestampFormats: Readonly<Record<string, number>> = { 'date-time': 5, 'http-date': 6, 'epoch-seconds': 7 };

const simpleSchemas: Readonly<Record<SimpleType, number>> = {
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

const namespaceOf = (id: string): string => id.slice(0, id.indexOf('#'));

function schemaOf(shape: Shape, member: (member: Member) => $SchemaRef): $Schema {
  const { id } = shape;
  if (id === 'smithy.api#Unit') return 'unit';
  const traits = protocolTraits(shape.traits, id);
  switch (shape.kind) {
    case 'simple':
      return [0, namespaceOf(id), shapeName(id), traits, simpleSchemas[shape.type]];
    case 'enum':
      return [0, namespaceOf(id), shapeName(id), traits, simpleSchemas.string];
    case 'intEnum':
      return [0, namespaceOf(id), shapeName(id), traits, simpleSchemas.integer];
    case 'list':
      return [1, namespaceOf(id), shapeName(id), traits, member(shape.member)];
    case 'map':
      return [2, namespaceOf(id), shapeName(id), traits, member(shape.key), member(shape.value)];
    case 'structure':
      return [
        3,
        namespaceOf(id),
        shapeName(id),
        traits,
        shape.members.map(({ name }) => name),
        shape.members.map(member),
      ];
    case 'union':
      return [
        4,
        namespaceOf(id),
        shapeName(id),
        traits,
        shape.members.map(({ name }) => name),
        shape.members.map(member),
      ];
  }
}

const flags = [
  'httpLabel',
  'httpPayload',
  'httpResponseCode',
  'httpQueryParams',
  'xmlAttribute',
  'xmlFlattened',
  'sparse',
];
const texts = ['httpHeader', 'httpQuery', 'httpPrefixHeaders', 'xmlName', 'jsonName', 'mediaType'];
const namespaceTrait = z.object({ uri: z.string(), prefix: z.string().default('') });

/**
 * The traits that change bytes. Idempotency tokens are not among them, because the protocols would make random ones.
 * @throws ModelError
 */
function protocolTraits(traits: Traits, place: string): SchemaTraitsObject {
  const converted: SchemaTraitsObject = {};
  for (const name of flags) if (hasTrait(traits, `smithy.api#${name}`)) converted[name] = 1;
  for (const name of texts) {
    const value = textTrait(traits, `smithy.api#${name}`);
    if (value !== undefined) converted[name] = value;
  }
  const namespace = readTrait(traits, 'smithy.api#xmlNamespace', namespaceTrait, place);
  if (namespace !== undefined) converted.xmlNamespace = [namespace.prefix, namespace.uri];
  const ec2Name = textTrait(traits, 'aws.protocols#ec2QueryName');
  if (ec2Name !== undefined) converted.ec2QueryName = ec2Name;
  return converted;
}
