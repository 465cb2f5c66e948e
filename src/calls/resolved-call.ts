import type { ChangeTexts, Operation } from '../tools/define-operation.js';
import type { Endpoint, WireRequest } from '../transport/request.js';
import type { SafeText } from '../util/safe-text.js';
import type { Account } from './account.js';
import type { CallBudget } from './call-budget.js';
import type { RegionSource } from './endpoint.js';

/** A call with everything that follows from its arguments, its account and the configuration. */
export type ResolvedCall = ResolvedRead | ResolvedChange;

type Fields = Readonly<Record<string, unknown>>;

export interface ResolvedRead {
  readonly kind: 'read';
  readonly operation: Operation;
  readonly account: Account;
  /** Name of the account, if accounts have names. */
  readonly accountName?: string | undefined;
  readonly endpoint: Endpoint;
  /** Validated arguments, without those that are not sent. */
  readonly input: Fields;
  /** Paths of the fields that the call picks from the answer. Undefined for the whole answer. */
  readonly fields?: readonly string[] | undefined;
  /** The request for the first page. */
  readonly request: WireRequest;
  readonly isOffered: IsOffered;
}

/** True for the name of a tool that the caller may use in the account of the call. */
type IsOffered = (tool: string) => boolean;

/** A change, with everything from which its plan and its question are made. */
export interface ResolvedChange extends Omit<ResolvedRead, 'kind' | 'fields'> {
  readonly kind: 'change';
  readonly change: ChangeTexts;
  /** Arguments with which the same call can be made again: the client's, with the names of secret files, `allowRepeat`, and the account. */
  readonly args: Fields;
  /** `input` and `request` for people and the journal, with words in place of each secret and of an idempotency token. */
  readonly shownInput: Fields;
  readonly shownRequest: WireRequest;
  /** Set if there are several accounts and the call names none, so that the default account is used. */
  readonly isDefaultAccount?: boolean;
  /** ID of the access key. Another access key of the account may sign the request, if the keys change before it is sent. */
  readonly keyId: string;
  readonly regionSource: RegionSource;
  /** The present state of the thing that would change: see `Plan.found`. */
  readonly found?: SafeText | undefined;
  readonly alert?: SafeText | undefined;
  /** Names of the secret files that the call gives, by the dotted path of the secret. */
  readonly nameBySecretPath?: Readonly<Record<string, string>>;
  /** Completes "look in the console for". Made before anything is sent, because an error in making it later would hide the outcome. */
  readonly verificationHint: SafeText;
  /** Name of the tool that shows the progress, if there is one and the caller may use it. */
  readonly followTool: string | undefined;
  readonly control: ControlArguments;
  readonly budget: CallBudget;
}

/** Arguments of a change that control the call and are not sent. */
interface ControlArguments {
  readonly planOnly: boolean;
  readonly allowRepeat: boolean;
  /** ID of a waiting change that this change replaces. */
  readonly replaces: string | undefined;
}
