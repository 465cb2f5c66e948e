import type { ChangeTexts, Operation } from '../tools/define-operation.js';
import type { Endpoint, WireRequest } from '../transport/request.js';
import type { SafeText } from '../util/safe-text.js';
import type { Account, Budget } from './account.js';
import type { RegionSource } from './endpoint.js';

/** A call with everything that follows from its arguments, its account and the configuration. */
export type ResolvedCall = ResolvedRead | ResolvedChange;

type Fields = Readonly<Record<string, unknown>>;

export interface ResolvedRead {
  readonly kind: 'read';
  readonly operation: Operation;
  readonly account: Account;
  readonly accountName?: string | undefined;
  readonly endpoint: Endpoint;
  /** Validated arguments that are sent. */
  readonly input: Fields;
  /** Undefined for the whole answer. */
  readonly fields?: readonly string[] | undefined;
  readonly request: WireRequest;
  readonly isOffered: (tool: string) => boolean;
}

/** A change, with everything from which its plan and its question are made. */
export interface ResolvedChange extends Omit<ResolvedRead, 'kind' | 'fields'> {
  readonly kind: 'change';
  readonly change: ChangeTexts;
  /** For the same call again, with the names of secret files. */
  readonly args: Fields;
  /** For people and the journal, with words in place of secrets. */
  readonly shownInput: Fields;
  readonly shownRequest: WireRequest;
  readonly isDefaultAccount?: boolean;
  /** Another key may sign the request, if the keys change. */
  readonly keyId: string;
  readonly regionSource: RegionSource;
  /** See `Plan.found`. */
  readonly found?: SafeText | undefined;
  readonly alert?: SafeText | undefined;
  /** Warnings of the read that chose the things. */
  readonly foundWarnings?: readonly SafeText[];
  /** Names of secret files. */
  readonly nameBySecretPath?: Readonly<Record<string, string>>;
  /** Made before anything is sent, because an error later would hide the outcome. */
  readonly verificationHint: SafeText;
  readonly followTool: string | undefined;
  /** The changes of which this one consists, see `Operation.many`. */
  readonly parts?: readonly ResolvedChange[];
  readonly list?: readonly Fields[] | undefined;
  readonly control: {
    readonly planOnly: boolean;
    readonly allowRepeat: boolean;
    /** ID of a waiting change. */
    readonly replaces: string | undefined;
  };
  /** The budget of an account and a caller. */
  readonly budget: {
    /** Changes with the same key count together, even if different access keys signed them. */
    readonly key: string;
    readonly limit: Budget | undefined;
  };
}
