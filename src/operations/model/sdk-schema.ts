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
  type StructureShape,
  shapeName,
  type Traits,
  textTrait,
} from './model.js';

/** The kinds of schemas, as the SDKs' protocols number them. */
const kinds = { simple: 0, list: 1, map: 2, structure: 3, union: 4 } as const;

/** Simple types, as the SDKs' protocols number them. */
const simpleTypeNumbers: Readonly<Record<SimpleType, number>> = {
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

/** Formats of timestamps, as the SDKs' protocols number them. */
const timestampFormats: Readonly<Record<string, number>> = { 'date-time': 5, 'http-date': 6, 'epoch-seconds': 7 };

/** Returns the schema of an operation of a model, as the SDKs' protocols take it. Shapes are converted when they are first needed. */
export function schemasOf(model: Model): (operation: ModelOperation) => $OperationSchema {
  const converted = new Map<string, $Schema>();
  const shapeSchema = (id: string): $SchemaRef => {
    return () => {
      const schema = converted.get(id) ?? schemaOf(model.shape(id), memberSchema);
      converted.set(id, schema);
      return schema;
    };
  };
  const memberSchema = (member: Member): $SchemaRef => {
    const traits = model.traitsOf(member);
    const format = timestampFormats[textTrait(traits, 'smithy.api#timestampFormat') ?? ''];
    return [format ?? shapeSchema(member.target), protocolTraits(member.traits, member.target)];
  };
  return ({ id, name, http, input, output, traits }) => ({
    namespace: namespaceOf(id),
    name,
    traits: { ...protocolTraits(traits, id), http: [http.method, http.uri, http.code] },
    input: shapeSchema(input.id),
    output: shapeSchema(output.id),
  });
}

const namespaceOf = (id: string): string => id.slice(0, id.indexOf('#'));

function schemaOf(shape: Shape, memberSchema: (member: Member) => $SchemaRef): $Schema {
  const { id } = shape;
  if (id === 'smithy.api#Unit') return 'unit';
  const namespace = namespaceOf(id);
  const name = shapeName(id);
  const traits = protocolTraits(shape.traits, id);
  switch (shape.kind) {
    case 'simple':
      return [kinds.simple, namespace, name, traits, simpleTypeNumbers[shape.type]];
    case 'enum':
      return [kinds.simple, namespace, name, traits, simpleTypeNumbers.string];
    case 'intEnum':
      return [kinds.simple, namespace, name, traits, simpleTypeNumbers.integer];
    case 'list':
      return [kinds.list, namespace, name, traits, memberSchema(shape.member)];
    case 'map':
      return [kinds.map, namespace, name, traits, memberSchema(shape.key), memberSchema(shape.value)];
    case 'structure':
      return [kinds.structure, namespace, name, traits, memberNames(shape), shape.members.map(memberSchema)];
    case 'union':
      return [kinds.union, namespace, name, traits, memberNames(shape), shape.members.map(memberSchema)];
  }
}

const memberNames = ({ members }: StructureShape): string[] => members.map(({ name }) => name);

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
