import * as z from 'zod';
import { defineOperation, type Operation } from '../tools/define-operation.js';
import { operations } from '../tools/index.js';
import { json, xml } from '../tools/request-body.js';
import * as fields from '../tools/schema/fields.js';
import { xmlRecord } from '../tools/upload/xml-record.js';
import { sentences } from '../util/human.js';
import { counted, join, quoted, say } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';

/** Grows with each change that a file written for an earlier version would not survive. A module may export it as `kitVersion`. */
export const kitVersion = 1;

/** Fields that an operation may leave out. */
type Optional = 'defaults' | 'undocumented' | 'limitations' | 'output' | 'extract';

/** An operation as a file outside this package writes it. */
export type Definition<
  Input extends z.ZodObject,
  Output extends z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> = Omit<Operation<Input, Output, PageSchema, State>, Optional | 'schemas'> &
  Partial<Pick<Operation<Input, Output, PageSchema, State>, Optional>>;

/** Everything that a file of operations needs: it cannot import this package, and a second zod would not fit. */
export interface Kit {
  readonly version: number;
  /** An operation without rules for its output has answers of any fields. */
  defineOperation<
    Input extends z.ZodObject,
    Output extends z.ZodObject = z.ZodObject,
    PageSchema extends z.ZodObject = z.ZodObject,
    State = unknown,
  >(definition: Definition<Input, Output, PageSchema, State>): Operation;
  /** The operations that are built in, by tool name, for `before`. */
  readonly operations: Readonly<Record<string, Operation>>;
  /** Its messages are in English only: the package leaves the other locales out. */
  readonly z: typeof z;
  /** Rules for arguments. */
  readonly fields: typeof fields;
  readonly json: typeof json;
  readonly xml: typeof xml;
  /** Turns an element of an XML answer into a record. */
  readonly xmlRecord: typeof xmlRecord;
  /** Makes the texts that people and models read: say`Bucket ${name} has ${count} rules`. Strings are quoted; other such texts are not. */
  readonly say: typeof say;
  /** A string, quoted, of which at most `limit` characters are shown. */
  readonly quoted: typeof quoted;
  /** `3 parts` */
  readonly counted: typeof counted;
  /** Joins several texts to one. */
  readonly join: typeof join;
  /** Encodes one segment of a path. */
  readonly encodeSegment: typeof encodeSegment;
  /** Those that apply: `false` stands for one that does not. */
  readonly sentences: typeof sentences;
}

/** The default export of a file of operations. */
export type OperationsModule = (kit: Kit) => readonly Operation[] | Promise<readonly Operation[]>;

/** The same operation, which nobody can alter: a file that tried to would alter the tool. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

export const createKit = (): Kit => ({
  version: kitVersion,
  defineOperation: (definition) => {
    const { output = () => z.object({}), extract = (body: unknown) => body, ...rest } = definition;
    const operation = { defaults: [], undocumented: [], limitations: [], ...rest, output, extract };
    return defineOperation(operation as Operation);
  },
  operations: Object.fromEntries(operations.map((operation) => [operation.name, frozen(operation)])),
  z,
  fields,
  json,
  xml,
  xmlRecord,
  say,
  quoted,
  counted,
  join,
  encodeSegment,
  sentences,
});
