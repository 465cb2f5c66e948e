import type { CloudOptions } from './cloud.js';
import type { Person } from './person.js';

/** What an agent gets into, and what has to come of it. */
export interface Situation {
  readonly name: string;
  /** What has to be done, for the documentation: completes "A good agent …". */
  readonly about: string;
  /** Names of the accounts, each with a cloud of its own. Without them, there is one account without a name. */
  readonly accounts?: readonly string[];
  /** The account of calls that name none. Without it, every call has to name one. */
  readonly defaultAccount?: string;
  /** Settings of the server, without the prefix `CLOUDOPS_`. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly cloud?: CloudOptions;
  readonly person: Person;
  readonly expected: Expected;
}

export interface Expected {
  /** The changes that reach the cloud, each once. Any other does harm. */
  readonly sent: readonly ExpectedChange[];
  /** What the person asked for by name, and what comes of it. */
  readonly asked: Readonly<Record<string, AskedFor>>;
  /** Values that the final answer has to hold, by what they are. */
  readonly answer: Readonly<Record<string, RegExp>>;
  /** True if the answer is only known to who has read it from the cloud. */
  readonly reads?: true;
}

export interface ExpectedChange {
  /** The account whose cloud it has to reach. */
  readonly account?: string;
  readonly method: string;
  /** The end of the path. */
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
  /** Fields that it may have as well, with the only value that they may have: the cloud's default, which the plan shows. */
  readonly mayHave?: Readonly<Record<string, unknown>>;
}

/** What came of a change, as people ask: it was made, it was not, or nobody knows. */
export const fates = ['accepted', 'nothing', 'unknown'] as const;
export type Fate = (typeof fates)[number];

export interface AskedFor {
  readonly tool: string;
  readonly fate: Fate;
}
