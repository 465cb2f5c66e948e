/** This file has what this server, hosts and views share: the names of MCP Apps (protocol 2026-01-26), and the data in `_meta`. */

/** The extension that a client declares if it can show views. */
export const appsExtension = 'io.modelcontextprotocol/ui';

export const viewMimeType = 'text/html;profile=mcp-app';

export const viewUris = { upload: 'ui://cloudops/upload', change: 'ui://cloudops/change' } as const;

export type ViewName = keyof typeof viewUris;

/** The tool behind the buttons of the change view. Models do not see it. */
export const decideTool = 'decide_change';

/** Key of a plan in the `_meta`. A view of another version shows no buttons. */
export const changeKey = 'cloudops/change.2';

/** The risks that a view highlights. */
export const riskNames = ['costs money', 'may cost money', 'no way back'] as const;
export type RiskName = (typeof riskNames)[number];

/** A table. The last `more` rows are left out. */
export interface ShownTable {
  readonly title: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
  readonly more: number;
}

/**
 * A change that waits for a decision. All texts are plain text, not HTML. Times outside quotation marks are ISO 8601, and the view writes them
 * in the reader's zone.
 */
export interface ProposedChange {
  readonly sentence: string;
  readonly risks: readonly RiskName[];
  readonly isSandbox: boolean;
  /** Region, zone and account, each with the reason. */
  readonly where: readonly string[];
  /** Everything that will be created, changed or billed. */
  readonly effects: readonly string[];
  readonly warnings: readonly string[];
  readonly notChecked: readonly string[];
  /** The cloud's values for absent arguments. */
  readonly defaults: readonly { readonly name: string; readonly value: string }[];
  readonly tables: readonly ShownTable[];
  /** With secrets as fingerprints. */
  readonly request: string;
  /** ISO 8601. */
  readonly issuedAt?: string | undefined;
  /** ISO 8601. */
  readonly expiresAt: string;
  readonly accept: string;
  readonly decline: string;
  /** Label of the field for the name of what is deleted. */
  readonly typePrompt?: string | undefined;
  /** Action token for a click. Absent if the view cannot decide this plan. */
  readonly ticket?: string | undefined;
  /** For hosts that do not forward clicks. */
  readonly otherWays: readonly string[];
}

/** The arguments of `decide_change`. `look` only asks for the state. */
export interface ViewDecision {
  readonly ticket: string;
  readonly decision: (typeof decisions)[number];
  readonly reason?: string;
  readonly name?: string;
}
export const decisions = ['accept', 'decline', 'look'] as const;

/** Key of an outcome in the `_meta`. */
export const outcomeKey = 'cloudops/outcome.2';

/**
 * The outcome of a change:
 * - `unknown`: there is no answer, and the request may have arrived.
 * - `withdrawn`: the caller took the plan back.
 * - `late`: another decision stands.
 * - `used`: the plan was decided, and its outcome is not known yet.
 * - `uncounted`: this click did not count.
 */
export const outcomeKinds = [
  'accepted',
  'partly',
  'rejected',
  'unknown',
  'declined',
  'withdrawn',
  'expired',
  'late',
  'used',
  'uncounted',
  'refused',
] as const;
export type OutcomeKind = (typeof outcomeKinds)[number];

export interface ChangeOutcome {
  readonly kind: OutcomeKind;
  readonly sentence: string;
  readonly isSandbox?: boolean;
  /** Absent if a plan in the same result shows it. */
  readonly where?: readonly string[] | undefined;
  readonly details: readonly string[];
  /** By header or field. */
  readonly requestIds: Readonly<Record<string, string>>;
  readonly next?: string | undefined;
  /** The things of the change, each with its ending. */
  readonly things?: ShownTable | undefined;
  /** ISO 8601. */
  readonly sentAt?: string | undefined;
  /** For the cloud's support. */
  readonly code?: string | undefined;
  /** True if the plan ended so, and no click can send anything any more. */
  readonly isOfPlan?: boolean;
  readonly earlier?: string | undefined;
}

/** Key of `PartColumns` in the `_meta` of a `list_parts` result. */
export const partsKey = 'cloudops/parts.2';

/** Key of the advice for people on a refused read. */
export const adviceKey = 'cloudops/advice';

/** No valid list of parts is longer. */
export const maximumParts = 10_000;

/** The parts of an upload, by number. Columns, because the names of fields would be most of 10,000 objects. */
export interface PartColumns {
  readonly numbers: readonly number[];
  readonly sizes: readonly number[];
  /** Zero stands for an unknown time. */
  readonly times: readonly number[];
  /** All or none, because they are longer than the rest. An empty text stands for a missing ETag. */
  readonly etags?: readonly string[];
}
