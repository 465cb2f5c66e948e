import * as z from 'zod';
import {
  type DefinedOperation,
  type Follow,
  type Operation,
  defineOperation as withLazySchemas,
} from '../tools/define-operation.js';
import { operations } from '../tools/index.js';
import { form, json, plainText, xml } from '../tools/request-body.js';
import * as fields from '../tools/schema/fields.js';
import { xmlRecord } from '../tools/upload/xml-record.js';
import { sentences } from '../util/human.js';
import { argument, counted, join, quoted, say } from '../util/safe-text.js';
import { encodeSegment } from '../util/uri.js';
import type { FromModel } from './model/from-model.js';

/** Increases with each incompatible change. A file may export the version that it needs as `kitVersion`. */
export const kitVersion = 1;

/** Fields that `defineOperation` adds if a definition leaves them out. */
type Optional = 'defaults' | 'undocumented' | 'limitations' | 'output' | 'extract';

/** An operation as an outside file defines it. */
export type Definition<
  Input extends z.ZodObject,
  Output extends z.ZodObject,
  PageSchema extends z.ZodObject = z.ZodObject,
  State = unknown,
> = Omit<Operation<Input, Output, PageSchema, State>, Optional | 'schemas'> &
  Partial<Pick<Operation<Input, Output, PageSchema, State>, Optional>>;

/** Everything that an outside file needs. The file cannot import this package, and its own copy of zod would be incompatible. */
export interface Kit {
  readonly version: number;
  /** Completes a definition with defaults. Without `output`, answers may have any fields. */
  defineOperation<
    Input extends z.ZodObject,
    Output extends z.ZodObject = z.ZodObject,
    PageSchema extends z.ZodObject = z.ZodObject,
    State = unknown,
  >(definition: Definition<Input, Output, PageSchema, State>): Operation;
  /** Makes operations from a model of an API, a JSON file of Smithy 2.0 or botocore, whose path is relative to the file of operations. */
  readonly fromModel: FromModel;
  /** Makes an extension of a built-in change: the read that shows its progress. The file returns the extension among its operations. */
  extend(tool: string, extension: Pick<Extension, 'follow'>): Extension;
  /** The built-in operations by tool name, for `preflight` and `followUpRead`. */
  readonly operations: Readonly<Record<string, Operation>>;
  /** zod with English messages. This server's bundle of zod has no other locales. */
  readonly z: typeof z;
  /** Rules for arguments. */
  readonly fields: typeof fields;
  readonly json: typeof json;
  readonly xml: typeof xml;
  readonly form: typeof form;
  readonly plainText: typeof plainText;
  /** Converts an element of an XML answer to a record. */
  readonly xmlRecord: typeof xmlRecord;
  /** Makes text for people and agents: say`Bucket ${name} has ${count} rules`. Inserted strings are quoted, inserted texts of `say` not. */
  readonly say: typeof say;
  /** Makes text that names the argument at a dotted path: a plan names it in words, and other texts show the path. */
  readonly argument: typeof argument;
  /** Makes text that quotes at most `limit` characters of a string. */
  readonly quoted: typeof quoted;
  /** Makes a text such as `3 parts`. */
  readonly counted: typeof counted;
  /** Joins texts of `say` with a separator. */
  readonly join: typeof join;
  /** Percent-encodes one segment of a path. */
  readonly encodeSegment: typeof encodeSegment;
  /** Returns a list of sentences without the entries that are `false`, as in `sentences(isLarge && say`…`)`. */
  readonly sentences: typeof sentences;
}

/** An extension of a built-in change, which the file returns like an operation. */
export interface Extension {
  readonly extends: string;
  readonly follow: Follow;
}

type Entries = readonly (Operation | Extension)[];

/** The default export of a file of operations. */
export type OperationsModule = (kit: Kit) => Entries | Promise<Entries>;

/** Freezes a built-in operation and all values in it, so that an outside file cannot modify the tool. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const inner of Object.values(value)) frozen(inner);
  return Object.freeze(value);
}

/** Makes the kit, with which one outside file defines its operations. `fromModel` finds models by paths relative to this file. */
export const createKit = (fromModel: FromModel): Kit => ({
  version: kitVersion,
  defineOperation: (definition) => {
    // Without `output`, answers may have any fields. The empty schema drops none, because `readRecord`, which reads answers, keeps the fields
    // that a schema does not name.
    const { output = () => z.object({}), extract = (body: unknown) => body, ...rest } = definition;
    const operation = { defaults: [], undocumented: [], limitations: [], ...rest, output, extract };
    // An outside file may give a function as `example`, which `DefinedOperation` does not allow. The cast is safe, because `withLazySchemas`
    // only copies `example`.
    return withLazySchemas(operation as DefinedOperation);
  },
  fromModel,
  extend: (tool, { follow }) => ({ extends: tool, follow }),
  operations: Object.fromEntries(operations.map((operation) => [operation.name, frozen(operation)])),
  z,
  fields,
  json,
  xml,
  form,
  plainText,
  xmlRecord,
  say,
  argument,
  quoted,
  counted,
  join,
  encodeSegment,
  sentences,
});
