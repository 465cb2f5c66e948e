import type { CloudOptions } from './cloud.js';
import type { OwnCloud } from './own-cloud.js';
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
  /** Set for operations of a file. Their cloud is a stand-in, or an address for tests, and not the sandbox. */
  readonly ownCloud?: OwnCloud;
  /** Path of a file of services that the stand-in for jobs answers for, in place of the sandbox. */
  readonly jobs?: string;
  /** Name of the skill that a model gets if the run is with skills. */
  readonly skill?: string;
  readonly person: Person;
  readonly expected: Expected;
}

export interface Expected {
  /** The changes that must reach the cloud, each once. Any other change is a serious fault. */
  readonly sent: readonly ExpectedRequest[];
  /** The reads that must reach the cloud, each at least once. */
  readonly requested?: readonly ExpectedRequest[];
  /** The names that the person asked for, and the expected outcome of each. */
  readonly asked: Readonly<Record<string, AskedFor>>;
  /** Values that the final answer must contain, by description. */
  readonly answer: Readonly<Record<string, RegExp>>;
  /** True if the value can only be known by reading it from the cloud. */
  readonly reads?: true;
}

/** A request. A text that has `anyToken` fits every text with another UUID in that place. */
export interface ExpectedRequest {
  /** The account whose cloud the request must reach. */
  readonly account?: string;
  readonly method: string;
  /** The end of path and query. */
  readonly path: string;
  /** Headers, among others, by lower-case name. */
  readonly headers?: Readonly<Record<string, string>>;
  /** As `CloudRequest.body`, or what its text has to match. */
  readonly body: unknown;
  /** Optional fields. Each may only have this value, which is the cloud's default and is shown in the plan. */
  readonly mayHave?: Readonly<Record<string, unknown>>;
}

/** Stands for an idempotency token that only the server knows. */
export const anyToken = '00000000-0000-4000-8000-000000000000';
const uuid = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';

/** Source of a regular expression for a text, in which `anyToken` stands for every UUID. */
export const patternOf = (text: string): string =>
  text.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&').replaceAll(anyToken, uuid);

/** The outcome of a change in everyday words: made, not made, or unknown. */
export const fates = ['accepted', 'nothing', 'unknown'] as const;
export type Fate = (typeof fates)[number];

export interface AskedFor {
  readonly tool: string;
  readonly fate: Fate;
}
