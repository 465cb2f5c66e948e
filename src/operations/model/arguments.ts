import * as z from 'zod';
import { lazy } from '../../util/objects.js';
import {
  hasTrait,
  type Member,
  type Model,
  readTrait,
  type Shape,
  type SimpleType,
  type StructureShape,
  type Traits,
  textTrait,
} from './model.js';
import { plainText } from './plain-text.js';

/** An argument of a tool, or a field of one: a member of the model under its name on the wire. */
export interface Argument {
  /** Name on the wire. */
  readonly name: string;
  /** Name of the member in the model. */
  readonly member: string;
  readonly isRequired: boolean;
  /** True if the model marks the member as sensitive. */
  readonly isSensitive: boolean;
  /** True if the member is a part of the path. */
  readonly isInPath: boolean;
  /** Documentation as plain text. It may be empty. */
  readonly documentation: string;
  readonly value: ArgumentValue;
}

/** The rules for a value. Inner rules are made on demand, because shapes may contain themselves. */
export type ArgumentValue =
  | StructureValue
  | { readonly kind: 'list'; readonly element: () => ArgumentValue; readonly limits: Limits; readonly isSet: boolean }
  | {
      readonly kind: 'map';
      readonly key: () => ArgumentValue;
      readonly element: () => ArgumentValue;
      readonly limits: Limits;
    }
  | { readonly kind: 'text'; readonly limits: Limits; readonly pattern?: string | undefined }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  /** `values` are the allowed numbers, if the model lists them. */
  | { readonly kind: 'integer'; readonly limits: Limits; readonly values?: readonly number[] }
  | { readonly kind: 'number'; readonly limits: Limits }
  /** A number that JavaScript cannot hold. It is given as text. */
  | { readonly kind: 'bigNumber' }
  | { readonly kind: 'blob'; readonly limits: Limits }
  | { readonly kind: 'boolean' }
  | { readonly kind: 'timestamp' }
  | { readonly kind: 'document' };

export interface StructureValue {
  readonly kind: 'structure';
  /** ID of the shape. */
  readonly id: string;
  readonly fields: () => readonly Argument[];
  /** True if exactly one of the fields has to be given. */
  readonly isUnion: boolean;
}

/** Bounds of a length, a size or a number. Both are included. */
export interface Limits {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** Returns the arguments of an operation: the members of its input. */
export function argumentsOf(model: Model, input: StructureShape, isHidden: (member: Member) => boolean): Argument[] {
  const taken = new Set(reservedNames);
  return input.members.filter((member) => !isHidden(member)).map((member) => argumentOf(model, member, taken));
}

/** The fields of a structure or union. */
export const structureOf = (model: Model, { id, kind, members }: StructureShape): StructureValue => ({
  kind: 'structure',
  id,
  isUnion: kind === 'union',
  fields: lazy(() => {
    const taken = new Set<string>();
    return members.map((member) => argumentOf(model, member, taken));
  }),
});

/** Arguments of every call, which belong to the server. */
const reservedNames = ['account', 'planOnly', 'planId', 'withdraw', 'allowRepeat'];
const allowedName = /^[A-Za-z][\w.-]{0,63}$/;

/** @param taken names of the arguments before it. The name of this one is added */
function argumentOf(model: Model, member: Member, taken: Set<string>): Argument {
  const names = [member.argumentName, member.name, `${member.name}_`];
  const name = names.find((one) => allowedName.test(one) && !taken.has(one)) ?? member.name;
  taken.add(name);
  const traits = model.traitsOf(member);
  return {
    name,
    member: member.name,
    isRequired: hasTrait(traits, 'smithy.api#required'),
    isSensitive: hasTrait(traits, 'smithy.api#sensitive'),
    isInPath: hasTrait(traits, 'smithy.api#httpLabel'),
    documentation: plainText(textTrait(traits, 'smithy.api#documentation') ?? ''),
    value: rulesOf(model, model.shape(member.target), traits),
  };
}

/** @param traits of the member together with those of its shape */
function rulesOf(model: Model, shape: Shape, traits: Traits): ArgumentValue {
  const limits = (name: 'length' | 'range') => readTrait(traits, `smithy.api#${name}`, limitsSchema, shape.id) ?? {};
  const inner = (member: Member) => () => rulesOf(model, model.shape(member.target), model.traitsOf(member));
  switch (shape.kind) {
    case 'structure':
    case 'union':
      return structureOf(model, shape);
    case 'list': {
      const isSet = hasTrait(traits, 'smithy.api#uniqueItems');
      return { kind: 'list', element: inner(shape.member), limits: limits('length'), isSet };
    }
    case 'map':
      return { kind: 'map', key: inner(shape.key), element: inner(shape.value), limits: limits('length') };
    case 'enum':
      return { kind: 'enum', values: shape.values };
    case 'intEnum':
      return { kind: 'integer', limits: {}, values: shape.values };
    case 'simple':
      return simpleValue(shape.type, limits, textTrait(traits, 'smithy.api#pattern'));
  }
}

function simpleValue(
  type: SimpleType,
  limits: (name: 'length' | 'range') => Limits,
  pattern: string | undefined,
): ArgumentValue {
  switch (type) {
    case 'string':
      return { kind: 'text', limits: limits('length'), pattern };
    case 'blob':
      return { kind: 'blob', limits: limits('length') };
    case 'byte':
      return { kind: 'integer', limits: { min: -128, max: 127, ...limits('range') } };
    case 'short':
      return { kind: 'integer', limits: { min: -32_768, max: 32_767, ...limits('range') } };
    case 'integer':
    case 'long':
      return { kind: 'integer', limits: limits('range') };
    case 'float':
    case 'double':
      return { kind: 'number', limits: limits('range') };
    case 'bigInteger':
    case 'bigDecimal':
      return { kind: 'bigNumber' };
    default:
      return { kind: type };
  }
}

const limitsSchema = z.object({ min: z.coerce.number(), max: z.coerce.number() }).partial();
