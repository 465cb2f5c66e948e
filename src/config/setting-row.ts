import type * as z from 'zod';

/** A setting: its text, its schema and what else is particular about it. */
export interface Row extends Flags {
  /** The meaning of the setting, for `help settings`, the configuration resource and docs/CONFIGURATION.md. */
  readonly help: string;
  /** Makes the schema of the value, the same for the environment and the accounts file. Called only if the setting is given. */
  readonly schema: () => z.ZodType;
}

interface Flags {
  /**
   * `switch`: on or off. `path`: the command `client-config` makes it absolute. `list`: commas separate the elements.
   * `command`: a program and its arguments, as a JSON array.
   */
  readonly kind?: 'switch' | 'path' | 'list' | 'command';
  readonly default?: string | number;
  /** True for a value that is never shown. */
  readonly secret?: true;
  /** True if the value may also come from a file. A setting with `_FILE` after the name gives the path. */
  readonly file?: true;
  /** True if each account may have its own value. */
  readonly account?: true;
}

/** Makes a row, of which the types keep the schema and the flags. */
export const row = <Schema extends Row['schema'], const Given extends Flags = Record<never, never>>(
  help: string,
  schema: Schema,
  flags?: Given,
) => ({ help, schema, ...(flags as Given) });
