import {
  type ConsentClaims,
  type ConsentMode,
  type ConsentTokens,
  decide,
  type Elicitor,
} from '../consent/decision.js';
import { digestOf, makePlan, type Plan, planText, valueAt, withValueAt } from '../consent/plan.js';
import { describe, type Intent, type Journal } from '../journal/journal.js';
import {
  explainEndless,
  explainExchange,
  explainStatus,
  explainUnexpected,
  explainUnreadable,
  type Failure,
  failureText,
  refusal,
} from '../results/failure.js';
import { type Reading, readRecord } from '../results/record.js';
import { requestIds } from '../results/request-ids.js';
import { type Answer, acceptedUnread, answer, planned } from '../results/success.js';
import type { Operation, Page } from '../tools/define-operation.js';
import type { Body } from '../transport/body.js';
import { SenderUnavailable } from '../transport/lazy.js';
import type { Attempt, Endpoint, Sender, Sent } from '../transport/signed-client.js';
import type { Log } from '../util/log.js';
import type { Attributes, Span, TraceParent } from '../util/trace.js';
import { type Cloud, resolveEndpoint } from './endpoint.js';
import type { InFlightCalls } from './in-flight.js';
import { type Principal, scopeOf } from './principal.js';
import { type Redact, redactData, redactor } from './redact.js';
import type { SecretFiles } from './secrets.js';
import { type Validation, validate } from './validate.js';

/** Which of the operations this server may carry out at all. */
export interface Policy {
  readonly readOnly: boolean;
  /** Names of the tools on offer; undefined offers all. */
  readonly tools: readonly string[] | undefined;
  /** Regions that calls may name; undefined allows any. */
  readonly regions?: readonly string[] | undefined;
}

export interface CallerDependencies {
  readonly cloud: Cloud;
  readonly policy: Policy;
  readonly confirm: ConsentMode;
  readonly send: Sender;
  readonly log: Log;
  /** A new text that nobody can guess. */
  readonly newNonce: () => string;
  readonly journal: Journal;
  readonly inFlight: InFlightCalls;
  readonly secretFiles: SecretFiles;
  readonly now: () => Date;
  readonly process: Intent['process'];
  /** What the next mutation's answer has to say of earlier ones; each is told once. */
  readonly takeReports: () => Promise<readonly string[]>;
}

/** What a tool call came to: an answer as data and text, the text of an error, or a question that the client has to bring an answer to. */
export type CallResult =
  | ({ readonly ok: true } & Answer)
  | { readonly ok: false; readonly text: string; readonly failure: Failure }
  | { readonly ok: 'asked'; readonly message: string; readonly grant: ConsentClaims };

export interface CallOptions {
  /** Aborts when the client cancels. */
  readonly signal: AbortSignal;
  /** Called for each page of an answer in pages, with how many there are so far and the record of the last. */
  readonly onPage?: (pages: number, record: Readonly<Record<string, unknown>>) => void;
  /** Absent if the client cannot ask its user. */
  readonly elicitor?: Elicitor | undefined;
  /** Whether the person who makes the call said yes beforehand, with an option of the command line. */
  readonly agreed?: boolean;
  readonly tokens: ConsentTokens;
  /** Name and version of the client, as it says. */
  readonly client: string;
  /** Absent where callers are not told apart. */
  readonly principal?: Principal | undefined;
  /** The trace that the call belongs to. */
  readonly trace?: TraceOrigin | undefined;
  /** The call's own span. */
  readonly span?: Span | undefined;
}

/** Where a call comes from, for a trace: attributes of the request, and the span that it belongs to. */
export interface TraceOrigin extends TraceParent {
  readonly attributes: Attributes;
}

/** Carries out one call of an operation. Never rejects for anything that bad input or the network can cause. */
export type Caller = (operation: Operation, args: unknown, options: CallOptions) => Promise<CallResult>;

/** Whether the policy and the caller's scopes let an operation be listed and called. */
export const isAllowed = ({ readOnly, tools }: Policy, operation: Operation, principal?: Principal) =>
  (!readOnly || operation.effect === 'read') &&
  (tools === undefined || tools.includes(operation.name)) &&
  (principal === undefined || principal.scopes.includes(scopeOf(operation)));

/** Every call takes the same way: validate, policy, plan, consent, journal, send, journal, result. */
export function createCaller(dependencies: CallerDependencies): Caller {
  const { cloud, policy, secretFiles, journal, inFlight, takeReports } = dependencies;
  return async (operation, args, options) => {
    const { name, change } = operation;
    const valid = validate(operation, args);
    if (!valid.ok) return refused(refusal(name, 'InvalidArguments', valid.problems));
    if (!isAllowed(policy, operation, options.principal))
      return refused(refusal(name, 'NotAllowed', [notAllowed(policy, operation)]));
    const checked = await withSecrets(operation, valid.input, secretFiles);
    if (!checked.ok) return refused(refusal(name, 'InvalidArguments', checked.problems));

    const { planOnly, planId, allowRepeat, ...input } = checked.input;
    const { region, ...request } = operation.request(input);
    const resolved = resolveEndpoint(cloud, operation.service, region);
    if (!resolved.ok) return refused(refusal(name, 'NotConfigured', resolved.missing.map(isNotSet)));

    const { target } = resolved;
    if (change === undefined) return resultOf(await exchangeAll(operation, input, target, options, dependencies));
    const digest = digestOf(operation, input, target);
    const repeats = allowRepeat === true;
    const earlier = await journal.findDuplicate(digest).catch(() => undefined);
    if (earlier !== undefined && !repeats && planOnly !== true)
      return refused(refusal(name, 'Repeated', [describe(earlier)]));
    const made = makePlan(operation, change, input, request, target);
    const repeated = earlier === undefined ? [] : [`The very same was sent before: ${describe(earlier)}`];
    const plan = { ...made, warnings: [...repeated, ...made.warnings] };
    const given = { planOnly: planOnly === true, planId: typeof planId === 'string' ? planId : undefined };
    const consentDigest = digestOf(operation, input, target, repeats);
    const consent = await consentTo(operation, plan, consentDigest, given, options, dependencies);
    if ('stop' in consent) return consent.stop;
    const result = await inFlight.keep(options.signal, (signal) => {
      const order = { plan, digest, consent, allowRepeat: repeats };
      return carryOut(operation, input, target, order, { ...options, signal }, dependencies);
    });
    return withReports(resultOf(result), await takeReports());
  };
}

/** How long a result waits for its outcome to be written, in milliseconds. */
const outcomeMs = 10_000;

/** A mutation that has consent: written down, sent, and its outcome written down. */
async function carryOut(
  operation: Operation,
  input: Record<string, unknown>,
  target: Endpoint,
  order: { plan: Plan; digest: string; consent: Consent; allowRepeat: boolean },
  options: CallOptions,
  dependencies: CallerDependencies,
): Promise<Answer | Failure> {
  const { journal, log, newNonce, now, process } = dependencies;
  const { name } = operation;
  const { plan, digest, consent, allowRepeat } = order;
  const id = newNonce();
  const intent: Intent = {
    id,
    time: now().toISOString(),
    tool: name,
    what: plan.consequences[0] ?? name,
    target: `${plan.method} ${plan.url}`,
    account: target.credentials.accessKeyId,
    client: options.client,
    caller: options.principal?.name,
    consent: consent.how,
    digest,
    nonce: consent.nonce,
    process,
  };
  const begun = await journal.begin(intent, { allowRepeat });
  if (begun.kind === 'unwritable') return refusal(name, 'JournalUnavailable', [begun.reason]);
  if (begun.kind === 'consentUsed') return refusal(name, 'PlanRefused', ['this consent was used before']);
  if (begun.kind === 'duplicate') return refusal(name, 'Repeated', [describe(begun.earlier)]);

  const result = await exchangeAll(operation, input, target, options, dependencies);
  try {
    await journal.end({ id, time: now().toISOString(), ...endingOf(result) }, AbortSignal.timeout(outcomeMs));
    return result;
  } catch (error) {
    log('error', 'journal', { tool: name, id, error: error instanceof Error ? error.message : 'unknown' });
    const warning = 'The outcome could not be written into the journal, which will call it unknown.';
    if (!('structured' in result)) return { ...result, details: [...(result.details ?? []), warning] };
    return { structured: { ...result.structured, notes: [warning] }, text: `${result.text}\nnote: ${warning}` };
  }
}

function endingOf(result: Answer | Failure) {
  if ('structured' in result) {
    const { requestIds } = result.structured as { requestIds?: Record<string, string> };
    return { outcome: 'accepted' as const, requestIds };
  }
  const { mayHaveHappened, status, code, requestIds } = result;
  const outcome = mayHaveHappened ? 'unknown' : status === undefined ? 'not sent' : 'rejected';
  return { outcome, status, code, requestIds: { ...requestIds } } as const;
}

/** All exchanges of a call with the cloud, until its answer or its failure. */
async function exchangeAll(
  operation: Operation,
  input: Record<string, unknown>,
  target: Endpoint,
  { signal, onPage, principal, span }: CallOptions,
  { send, log }: CallerDependencies,
): Promise<Answer | Failure> {
  const { name } = operation;
  const { secretAccessKey, sessionToken } = target.credentials;
  const redact = redactor([secretAccessKey, sessionToken, ...operation.secrets.map((path) => textAt(input, path))]);
  const sending = { repeatable: operation.effect === 'read', rows: operation.pages?.rows, signal, span };
  const result = await send(target, sending, (sendRequest) =>
    readPages(operation, input, onPage, async (page) => {
      const { region: _, ...request } = operation.request(page);
      return conclude(operation, withoutSecrets(await sendRequest(request), redact), target);
    }),
  ).catch((error: unknown) => {
    log('error', 'unexpected', { tool: name, error: error instanceof Error ? error.name : 'not an error' });
    return error instanceof SenderUnavailable ? refusal(name, error.code, []) : explainUnexpected(operation);
  });
  logResult(log, name, result, principal);
  return result;
}

/** Puts secrets in the place of their names, and checks them by the rules. */
async function withSecrets(
  operation: Operation,
  given: Record<string, unknown>,
  files: SecretFiles,
): Promise<Validation> {
  let input: unknown = given;
  for (const [namePath, secretPath] of Object.entries(operation.secretNames ?? {})) {
    const name = textAt(input, namePath);
    if (name === undefined) continue;
    const secret = await files.read(name);
    if ('problem' in secret) return { ok: false, problems: [`${namePath}: ${secret.problem}`] };
    input = withValueAt(
      withValueAt(input, namePath, () => undefined),
      secretPath,
      () => secret.text,
    );
  }
  return input === given ? { ok: true, input: given } : validate(operation, input);
}

type Consent = { readonly how: Intent['consent']; readonly nonce?: string | undefined };

/** The consent to go ahead, or the result that the call stops with. */
async function consentTo(
  operation: Operation,
  plan: Plan,
  digest: string,
  given: { planOnly: boolean; planId: string | undefined },
  { elicitor, agreed = false, tokens, principal }: CallOptions,
  { confirm, newNonce, log }: CallerDependencies,
): Promise<Consent | { readonly stop: CallResult }> {
  const { name, title } = operation;
  const message = `${title}?\n\n${planText(plan)}`;
  const decision = await decide({ mode: confirm, digest, ...given, message, elicitor, agreed, tokens, newNonce });
  log('info', 'consent', {
    tool: name,
    digest,
    decision: decision.kind,
    ...('how' in decision && { how: decision.how }),
    caller: principal?.name,
  });
  if (decision.kind === 'go') return decision;
  if (decision.kind === 'later') return { stop: { ok: 'asked', message, grant: decision.grant } };
  if (decision.kind === 'plan') return { stop: { ok: true, ...planned(operation, plan, decision.planId) } };
  return { stop: refused(refusal(name, decision.code, [decision.reason])) };
}

const resultOf = (result: Answer | Failure): CallResult =>
  'structured' in result ? { ok: true, ...result } : refused(result);

/** Adds what has to be said of earlier mutations. */
function withReports(result: CallResult, reports: readonly string[]): CallResult {
  if (reports.length === 0 || result.ok === 'asked') return result;
  const text = [result.text, ...reports.map((report) => `note: ${report}`)].join('\n');
  const { notes = [] } = (result.ok ? result.structured : result.failure) as { notes?: readonly string[] };
  const all = [...notes, ...reports];
  return result.ok
    ? { ...result, text, structured: { ...result.structured, notes: all } }
    : { ...result, text, failure: { ...result.failure, notes: all } };
}

/** What a failure is for a caller. */
export const refused = (failure: Failure): CallResult & { readonly ok: false } => ({
  ok: false,
  text: failureText(failure),
  failure,
});

const isNotSet = (name: string) => `${name} is not set`;

function notAllowed(policy: Policy, operation: Operation): string {
  if (isAllowed(policy, operation)) return `the token does not have the scope ${scopeOf(operation)}`;
  return policy.readOnly ? 'CLOUDOPS_READ_ONLY is set' : 'CLOUDOPS_TOOLS does not name it';
}

/** Takes secrets out of what a service says, before anything is made of it. */
function withoutSecrets(sent: Sent, redact: Redact): Sent {
  if (sent.kind === 'failed') return sent;
  const { body, response } = sent;
  const headers = Object.fromEntries(Object.entries(response.headers).map(([name, value]) => [name, redact(value)]));
  return { ...sent, body: redactBody(body, redact), response: { ...response, headers } };
}

function redactBody(body: Body, redact: Redact): Body {
  if ('text' in body) return { ...body, text: redact(body.text) };
  if (body.kind === 'json') return { ...body, value: redactData(body.value, redact) };
  return body.kind === 'xml' ? { kind: 'xml', value: { ...Object(redactData(body.value, redact)) } } : body;
}

function logResult(log: Log, tool: string, result: Answer | Failure, caller: Principal | undefined): void {
  const failed = 'structured' in result ? undefined : { code: result.code, mayHaveHappened: result.mayHaveHappened };
  log(failed?.mayHaveHappened ? 'warn' : 'info', 'call', {
    tool,
    ok: failed === undefined,
    ...failed,
    caller: caller?.name,
  });
}

const textAt = (input: unknown, path: string): string | undefined => {
  const value = valueAt(input, path);
  return typeof value === 'string' ? value : undefined;
};

/** What one exchange came to: a page to read, or the end of the call. */
type Exchanged =
  | { readonly reading: Reading; readonly sent: Sent; readonly ids: Ids; readonly answeredAt?: string }
  | { readonly end: Answer | Failure };

type Ids = Readonly<Record<string, string>>;

/** Sends the request and, where the answer comes in pages, those that follow; then puts the answer together. */
async function readPages(
  operation: Operation,
  input: Record<string, unknown>,
  onPage: CallOptions['onPage'],
  exchange: (input: Record<string, unknown>) => Promise<Exchanged>,
): Promise<Answer | Failure> {
  const pages: Page<Record<string, unknown>>[] = [];
  const retried: Attempt[] = [];
  const warnings = new Set<string>();
  let nextInput = input;
  for (;;) {
    const exchanged = await exchange(nextInput);
    if ('end' in exchanged) return exchanged.end;
    const { reading, ids, sent, answeredAt } = exchanged;
    if (sent.attempts.length > 1) retried.push(...sent.attempts);
    for (const warning of reading.warnings) warnings.add(warning);
    pages.push({ record: reading.record, ...(answeredAt !== undefined && { answeredAt }) });
    onPage?.(pages.length, reading.record);
    const next = operation.pages?.next(nextInput, pages);
    if (next === undefined) {
      const record = operation.pages?.combine(input, pages) ?? reading.record;
      return answer(operation, { record, warnings: [...warnings] }, ids, retried);
    }
    if ('problem' in next) return explainEndless(operation, next.problem, ids, retried);
    nextInput = next.input;
  }
}

function conclude(operation: Operation, sent: Sent, { origin }: Endpoint): Exchanged {
  const { attempts } = sent;
  if (sent.kind === 'failed') return { end: explainExchange(operation, sent.failure, {}, attempts, origin) };
  const { status, headers, bodyFailure } = sent.response;
  const ids = requestIds(headers);
  if (status < 200 || status > 299) return { end: explainStatus(operation, sent, ids) };

  const reads = operation.effect === 'read';
  if (bodyFailure !== undefined && reads)
    return { end: explainExchange(operation, bodyFailure, ids, attempts, origin) };
  const format = operation.service === 'storage' ? 'xml' : 'json';
  const problem =
    bodyFailure === undefined ? unreadable(sent.body, format) : `its body was lost on the way (${bodyFailure.code})`;
  if (problem !== undefined) {
    // A page in place of an answer comes from something in between: nobody knows whether the API got the request.
    const unread = reads || sent.body.kind === 'html';
    return { end: (unread ? explainUnreadable : acceptedUnread)(operation, status, problem, ids, attempts) };
  }
  const value = 'value' in sent.body ? operation.record(sent.body.value) : undefined;
  if (reads && value === undefined)
    return { end: explainUnreadable(operation, status, `it is not an answer to ${operation.api}`, ids, attempts) };
  const reading = readRecord(operation.pages?.page ?? operation.output, value, { fromText: format === 'xml' });
  return { reading, sent, ids, ...(headers.date !== undefined && { answeredAt: headers.date }) };
}

function unreadable(body: Body, format: 'xml' | 'json'): string | undefined {
  if (body.kind === format) return undefined;
  const called = { xml: 'XML', json: 'JSON', html: 'an HTML page', text: 'plain text', empty: 'empty' };
  if (body.kind === 'malformed') return `it looks like ${body.format}, but ${body.problem}`;
  return `it is ${called[body.kind]}, not ${called[format]}`;
}
