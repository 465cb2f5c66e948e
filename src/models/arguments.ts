import * as z from 'zod';
import { consentArguments } from '../tools/schema/fields.js';
import { sentenceCase } from '../util/human.js';
import { lazy } from '../util/objects.js';
import { documentationText } from './documentation-text.js';
import {
  hasTrait,
  type Member,
  type Model,
  readTrait,
  type Shape,
  type StructureShape,
  shapeName,
  type Traits,
  textTrait,
} from './model.js';

/** An argument of a tool, a field inside an argument, or a field of an answer. */
export interface Argument {
  /** The name in the model, with a "_" if this server has an argument with this name. */
  readonly name: string;
  readonly memberName: string;
  /** Name in requests, which calls may have in place of `name`. */
  readonly requestName: string;
  readonly isRequired: boolean;
  readonly isSensitive: boolean;
  /** True for the value of an API key, as in `CreateApiKey`. */
  readonly isOfApiKey: boolean;
  /** Undefined for the query or the body. */
  readonly location?: 'path' | 'headers' | undefined;
  readonly documentation: string;
  readonly rules: ValueRules;
}

/** The rules for a value. Inner rules are made on demand, because shapes may contain themselves. */
export type ValueRules =
  | StructureRules
  | {
      readonly kind: 'list';
      readonly element: () => ValueRules;
      readonly limits: ValueLimits;
      readonly isSet: boolean;
    }
  | {
      readonly kind: 'map';
      readonly key: () => ValueRules;
      readonly element: () => ValueRules;
      readonly limits: ValueLimits;
    }
  | {
      readonly kind: 'text';
      readonly limits: ValueLimits;
      readonly pattern?: string | undefined;
    }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  | { readonly kind: 'integer'; readonly limits: ValueLimits; readonly values?: readonly number[] }
  | { readonly kind: 'number'; readonly limits: ValueLimits }
  /** A number of any size, which calls and answers have as text. */
  | { readonly kind: 'bigNumber' }
  | { readonly kind: 'blob'; readonly limits: ValueLimits; readonly mustBeUtf8?: boolean }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'timestamp' }
  | { readonly kind: 'document' };

export interface StructureRules {
  readonly kind: 'structure';
  readonly id: string;
  readonly fields: () => readonly Argument[];
  /** True if a value must have exactly one field. */
  readonly isUnion: boolean;
}

/** Inclusive bounds of a length, a size or a number. */
export interface ValueLimits {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Returns the arguments of an operation: the members of its input that are not hidden. */
export function argumentsOf(model: Model, input: StructureShape, isHidden = (_: Member) => false): Argument[] {
  const members = input.members.filter((member) => !isHidden(member));
  return namedArguments(model, { id: input.id, members }, { isOfInput: true });
}

export const structureOf = (model: Model, { id, kind, members }: StructureShape): StructureRules => ({
  kind: 'structure',
  id,
  isUnion: kind === 'union',
  fields: lazy(() => namedArguments(model, { id, members }, { isOfInput: false })),
});

const reservedNames: readonly string[] = ['account', 'outputFields', ...Object.keys(consentArguments())];

function namedArguments(
  model: Model,
  { id: structure, members }: Pick<StructureShape, 'id' | 'members'>,
  { isOfInput }: { readonly isOfInput: boolean },
): Argument[] {
  const isReserved = (name: string) => isOfInput && reservedNames.includes(name);
  return members.map((member) => {
    const name = isReserved(member.name) ? `${member.name}_` : member.name;
    const requestName = requestNameOf(model, member, isOfInput);
    const traits = model.traitsOf(member);
    return {
      name,
      memberName: member.name,
      requestName: isReserved(requestName) ? name : requestName,
      isRequired: hasTrait(traits, 'smithy.api#required'),
      isSensitive: isSensitive(model, member),
      isOfApiKey: member.name.toLowerCase() === 'value' && /(?:api-?|plan)key/i.test(shapeName(structure)),
      location: locationOf(traits),
      documentation: documentationText(textTrait(traits, 'smithy.api#documentation') ?? ''),
      rules: rulesOf(model, model.shape(member.target), traits),
    };
  });
}

function isSensitive(model: Model, member: Member): boolean {
  if (hasTrait(model.traitsOf(member), 'smithy.api#sensitive')) return true;
  const shape = model.shape(member.target);
  if (shape.kind === 'list') return isSensitive(model, shape.member);
  return shape.kind === 'map' && (isSensitive(model, shape.key) || isSensitive(model, shape.value));
}

function locationOf(traits: Traits): Argument['location'] {
  if (hasTrait(traits, 'smithy.api#httpLabel')) return 'path';
  const isInHeaders = ['httpHeader', 'httpPrefixHeaders'].some((name) => hasTrait(traits, `smithy.api#${name}`));
  return isInHeaders ? 'headers' : undefined;
}

type ReadLimits = (trait: 'length' | 'range') => ValueLimits;

function rulesOf(model: Model, shape: Shape, traits: Traits): ValueRules {
  const limitsIn: ReadLimits = (trait) => readTrait(traits, `smithy.api#${trait}`, limitsSchema, shape.id) ?? {};
  const innerRules = (member: Member) => () => rulesOf(model, model.shape(member.target), model.traitsOf(member));
  switch (shape.kind) {
    case 'structure':
    case 'union':
      return structureOf(model, shape);
    case 'list': {
      const isSet = hasTrait(traits, 'smithy.api#uniqueItems');
      return { kind: 'list', element: innerRules(shape.member), limits: limitsIn('length'), isSet };
    }
    case 'map':
      return { kind: 'map', key: innerRules(shape.key), element: innerRules(shape.value), limits: limitsIn('length') };
    case 'enum':
      return { kind: 'enum', values: shape.values };
    case 'intEnum':
      return { kind: 'integer', limits: {}, values: shape.values };
    case 'simple':
      return simpleRules(shape, traits, limitsIn);
  }
}

type SimpleShape = Extract<Shape, { kind: 'simple' }>;

function simpleRules({ type }: SimpleShape, traits: Traits, limitsIn: ReadLimits): ValueRules {
  switch (type) {
    case 'string':
      return { kind: 'text', limits: limitsIn('length'), pattern: textTrait(traits, 'smithy.api#pattern') };
    case 'blob': {
      // This server sends bodies as text.
      const isWholeBody = hasTrait(traits, 'smithy.api#httpPayload');
      return { kind: 'blob', limits: limitsIn('length'), mustBeUtf8: isWholeBody };
    }
    case 'byte':
      return { kind: 'integer', limits: { min: -128, max: 127, ...limitsIn('range') } };
    case 'short':
      return { kind: 'integer', limits: { min: -32_768, max: 32_767, ...limitsIn('range') } };
    // These types are common, and their bounds would take too much room in the list of tools. `integerSchema` refuses numbers that JavaScript would
    // round.
    case 'integer':
    case 'long':
      return { kind: 'integer', limits: limitsIn('range') };
    case 'float':
    case 'double':
      return { kind: 'number', limits: limitsIn('range') };
    case 'bigInteger':
    case 'bigDecimal':
      return { kind: 'bigNumber' };
    case 'boolean':
    case 'timestamp':
    case 'document':
      return { kind: type };
  }
}

const limitsSchema = z.object({ min: z.coerce.number(), max: z.coerce.number() }).partial();

/** Of a flattened list or map, requests have only the entries, so its name in the model is returned. */
function requestNameOf({ service, shape }: Model, { name, target, traits }: Member, isOfInput: boolean): string {
  const { protocol } = service;
  const trait = (id: string) => textTrait(traits, `smithy.api#${id}`);
  const nameOutsideBody = trait('httpHeader') ?? trait('httpQuery');
  if (nameOutsideBody !== undefined && isOfInput) return nameOutsideBody;

  if (protocol === 'awsJson1_0' || protocol === 'awsJson1_1') return name;
  if (protocol === 'restJson1') return trait('jsonName') ?? name;
  const isListOrMap = ['list', 'map'].includes(shape(target).kind);
  const isEc2 = protocol === 'ec2Query';
  // EC2's protocol flattens every list, even without the trait.
  if (isListOrMap && (isEc2 || hasTrait(traits, 'smithy.api#xmlFlattened'))) return name;
  const nameInXml = trait('xmlName') ?? name;
  return isEc2 ? (textTrait(traits, 'aws.protocols#ec2QueryName') ?? sentenceCase(nameInXml)) : nameInXml;
}
