import * as z from 'zod';
import { json, xml } from '../tools/body.js';
import { defineOperation, type Operation } from '../tools/define-operation.js';
import { operations } from '../tools/index.js';
import * as fields from '../tools/schema/fields.js';
import { xmlRecord } from '../tools/upload/xml-record.js';
import { counted, sentences } from '../util/human.js';
import { quote } from '../util/quote.js';
import { encodeSegment } from '../util/uri.js';

/** Grows with each change that a file written for an earlier version would not survive. A module may export it as `kitVersion`. */
export const kitVersion = 1;

/** What an operation need not say. */
type Optional = 'defaults' | 'undocumented' | 'elsewhere' | 'output' | 'extract';

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
  /** Shows a text from outside in a sentence. */
  readonly quote: typeof quote;
  /** Encodes one segment of a path. */
  readonly encodeSegment: typeof encodeSegment;
  readonly counted: typeof counted;
  readonly sentences: typeof sentences;
}

/** The default export of a file of operations. It may be called twice: the first time ends where it asks for `z`, which is loaded then. */
export type OperationsModule = (kit: Kit) => readonly Operation[] | Promise<readonly Operation[]>;

/** @param loadedZod answers with all of zod, or throws: a getter cannot wait for what is still to be loaded */
export const createKit = (loadedZod: () => typeof z): Kit => ({
  version: kitVersion,
  defineOperation: (definition) => {
    const { output = () => z.object({}), extract = (body: unknown) => body, ...rest } = definition;
    const operation = { defaults: [], undocumented: [], elsewhere: [], ...rest, output, extract };
    return defineOperation(operation as Operation);
  },
  operations: Object.fromEntries(operations.map((operation) => [operation.name, operation])),
  get z() {
    return loadedZod();
  },
  fields,
  json,
  xml,
  xmlRecord,
  quote,
  encodeSegment,
  counted,
  sentences,
});
