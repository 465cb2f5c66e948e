import type { CloudOptions } from './cloud.js';
import type { Person } from './person.js';

/** A task for an agent, and the expected result. */
export interface Situation {
  readonly name: string;
  /** The expected behaviour, for the documentation. Completes "A good agent …". */
  readonly about: string;
  /** Names of the accounts. Each has its own cloud. If absent, there is one account without a name. */
  readonly accounts?: readonly string[];
  /** The default account. If absent, every call must name an account. */
  readonly defaultAccount?: string;
  /** Settings of the server, without the prefix `CLOUDOPS_`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly cloud?: CloudOptions;
  readonly person: Person;
  readonly expected: Expected;
}

export interface Expected {
  /** The changes that must reach the cloud, each once. Any other change is a serious fault. */
  readonly sent: readonly ExpectedChange[];
  /** The names that the person asked for, and the expected outcome of each. */
  readonly asked: Readonly<Record<string, AskedFor>>;
  /** Values that the final answer must contain, by description. */
  readonly answer: Readonly<Record<string, RegExp>>;
  /** True if the value can only be known by reading it from the cloud. */
  readonly reads?: true;
}

export interface ExpectedChange {
  /** The account whose cloud the change must reach. */
  readonly account?: string;
  readonly method: string;
  /** The end of the path. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Optional fields. Each may only have this value, which is the cloud's default and is shown in the plan. */
  readonly mayHave?: Readonly<Record<string, unknown>>;
}

/** The outcome of a change in everyday words: made, not made, or unknown. */
export const fates = ['accepted', 'nothing', 'unknown'] as const;
export type Fate = (typeof fates)[number];

export interface AskedFor {
  readonly tool: string;
  readonly fate: Fate;
}
