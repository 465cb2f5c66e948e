import type * as z from 'zod';

/** A setting: its text, its schema and its flags. */
export interface Row extends Flags {
  /** For `help settings`, the configuration resource and docs/CONFIGURATION.md. */
  readonly help: string;
  /** Called only if the setting is given, because building a schema is slow. */
  readonly schema: () => z.ZodType;
}

interface Flags {
  /** The command `client-config` makes a `path` absolute. Commas separate a `list`. A `command` is a JSON array. */
  readonly kind?: 'switch' | 'path' | 'list' | 'command';
  readonly default?: string | number;
  /** True for a value that is never shown. */
  readonly secret?: true;
  /** True if the value may also come from a file. */
  readonly file?: true;
  readonly account?: true;
}

/** Makes a row whose type keeps the schema and the flags. */
export const row = <Schema extends Row['schema'], const Given extends Flags = Record<never, never>>(
  help: string,
  schema: Schema,
  flags?: Given,
) => ({ help, schema, ...(flags as Given) });
