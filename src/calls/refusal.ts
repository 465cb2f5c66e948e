import { KeysUnavailable } from '../signing/keys.js';
import type { ChangeTexts } from '../tools/define-operation.js';
import { actions, actors, type Next, next, operatorMust } from '../tools/next.js';
import { textAt } from '../util/objects.js';
import { defined, definedMessage, forReader, own, type SafeText, say, sentence, words } from '../util/safe-text.js';
import type { EndedOutcome, Failure } from './outcome.js';
import table from './refusals.json' with { type: 'json' };

/**
 * What somebody has to do. In texts of the tables, `[a|b|c]` has words for agents, people and operators, `{name}` stands for a value, and
 * `must` continues "has to" for the person who runs this server.
 */
export type Step = { readonly must: string } | { readonly who: string; readonly action: string; readonly text: string };
export type Values = Readonly<Record<string, SafeText>>;

export type RefusalCode = keyof typeof table;

export const refusals: Readonly<Record<RefusalCode, Step & { readonly reason: string }>> = table;

export function nextOf(step: Step, values: Values = {}): Next {
  if ('must' in step) return operatorMust(filled(step.must, values));
  return { who: oneOf(actors, step.who), action: oneOf(actions, step.action), text: filled(step.text, values) };
}

export function filled(template: string, values: Values = {}): SafeText {
  const textOf = (reader: number) => {
    const text = template.replace(/\[([^\]]*)\]/g, (_whole, texts: string) => {
      const [agent = '', person = agent, operator = person] = texts.split('|');
      return [agent, person, operator][reader] ?? '';
    });
    const names = [...text.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => values[name] ?? defined(`{${name}}`));
    return definedMessage(text.split(/\{\w+\}/), names);
  };
  if (!template.includes('[')) return textOf(0);
  return forReader({ agent: textOf(0), person: textOf(1), operator: textOf(2) });
}

function oneOf<Value extends string>(values: readonly Value[], given: string): Value {
  const value = values.find((each) => each === given);
  if (value === undefined) throw new Error(`${given} is not one of ${values.join(', ')}`);
  return value;
}

/** Stops a call before anything is sent, thrown or returned. The caller gets it as a failure. */
export class Refusal extends Error {
  readonly kind = 'refused';
  readonly code: RefusalCode;
  readonly problems: readonly SafeText[];
  /** Fields that replace the usual ones. `reason` replaces the end of the summary. */
  readonly more: Partial<
    Pick<Failure, 'changeId' | 'outcome' | 'mayHaveHappened' | 'warnings' | 'next' | 'earlier'>
  > & {
    readonly reason?: SafeText;
  };
  constructor(code: RefusalCode, problems: readonly SafeText[] = [], more: Refusal['more'] = {}) {
    super(code);
    this.code = code;
    this.problems = problems;
    this.more = more;
  }
}

/** Returns the refusal if no keys are available, or if an update has removed a file of this running server. */
export function refusalAfter(error: unknown): Refusal | undefined {
  if (error instanceof Refusal) return error;
  if (error instanceof KeysUnavailable) return new Refusal('KeysUnavailable', [error.shown]);
  if (textAt(error, 'code') === 'ERR_MODULE_NOT_FOUND') return new Refusal('SenderUnavailable');
  return error instanceof Error && error.cause !== undefined ? refusalAfter(error.cause) : undefined;
}

/** Converts a refusal to the failure that the caller gets. */
export function refusalFailure(
  tool: string | SafeText,
  { code, problems, more }: Refusal,
  { isChange }: { readonly isChange: boolean },
): Failure {
  const usual = refusals[code];
  const { reason = filled(usual.reason), ...replacedFields } = more;
  // Another call may have carried out the change.
  const mayHaveBeenSent = code === 'StateUnavailable' || code === 'UnknownChange';
  const result = words(mayHaveBeenSent ? 'failed' : 'was not sent');
  return {
    summary: typeof tool === 'string' ? summaryOf(own(tool), result, reason) : say`${tool} ${result}: ${reason}.`,
    code,
    problems,
    ...(isChange && !mayHaveBeenSent && { mayHaveHappened: false }),
    next: nextOf(usual),
    requestIds: {},
    ...replacedFields,
  };
}

export const refusedChange = (tool: string, refusal: Refusal): EndedOutcome => ({
  kind: 'failed',
  failure: refusalFailure(tool, refusal, { isChange: true }),
});

/** People in a view get only the reason, because they see the change there. */
export function summaryOf(tool: SafeText, result: SafeText, reason: SafeText): SafeText {
  const full = say`${tool} ${result}: ${reason}.`;
  return forReader({ agent: full, person: sentence(say`${reason}.`), operator: full });
}

/** The refusal of a change whose plan is too large to be reviewed or stored. */
export const tooLargeToShow = (
  { change: { ifTooLarge } }: { readonly change: Pick<ChangeTexts, 'ifTooLarge'> },
  more: Pick<Refusal['more'], 'reason'> = {},
): Refusal =>
  new Refusal('TooLargeToShow', [], {
    ...more,
    ...(ifTooLarge !== undefined && { next: next('agent', 'call', defined(ifTooLarge)) }),
  });

/** True for the code of a refusal that is no fault of this server. */
export const isRefusal = (code: string): boolean =>
  Object.hasOwn(refusals, code) && code !== 'InternalError' && code !== 'SenderUnavailable';
export const refusalCodes: readonly string[] = Object.keys(refusals);
