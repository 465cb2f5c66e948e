import type { ResolvedChange } from '../calls/resolved-call.js';
import { valueAtSource } from '../tools/define-operation.js';
import { callAgain, forAgent, type Next, next, theyWant } from '../tools/next.js';
import { place } from '../tools/schema/zones.js';
import { sentences } from '../util/human.js';
import {
  forReader,
  join,
  listed,
  own,
  quoted,
  type SafeText,
  say,
  shownValue,
  time,
  words,
} from '../util/safe-text.js';

/** The parts of a call that determine how its progress can be followed. */
export type FollowedCall = Pick<
  ResolvedChange,
  'operation' | 'change' | 'endpoint' | 'shownInput' | 'followTool' | 'verificationHint'
>;

/** The step after an accepted change: call the read that shows its progress, or look in the console. */
export function stepAfterAccepted(call: FollowedCall, tellOutcome: SafeText, record?: unknown): Next {
  const read = followingRead(call, record);
  if (read !== undefined) {
    const callRead = forReader({ agent: 'Call', person: 'Its progress shows in' });
    const toSeeProgress = forAgent(' to see its progress, not the change again');
    const lookSentence = say`${callRead} ${read}${toSeeProgress}.`;
    return next(
      'agent',
      'call',
      join(sentences(tellOutcome, lookSentence, doneSentence(call), notFoundYet(call)), ' '),
    );
  }
  if (!call.change.continues) return next('nobody', 'none', tellOutcome);
  const notAgain = forAgent(': do not call this tool again to check');
  return next('user', 'check', say`${tellOutcome} The console shows when it is finished${notAgain}.`);
}

/**
 * The step after a change whose outcome is unknown.
 * @param sentAt ISO 8601
 */
export function stepIfUnknown(call: FollowedCall, sentAt: string): Next {
  const sent = say`It was sent at ${time(sentAt)} to region ${place(call.endpoint.region)}.`;
  if (call.operation.repeatable === true) {
    const repeat = say`Sending it again does no harm: ${callAgain} with the same arguments.`;
    return next('agent', 'call', say`${sent} ${repeat} The aim is ${call.verificationHint}.`);
  }
  const { who, action, text } = stepToVerify(call, {
    beforeLook: words('Wait ten minutes, then'),
    howToRepeat: say`${callAgain} with the same arguments and with allowRepeat: true`,
  });
  return next(who, action, say`Do not repeat it. ${sent} ${text}`);
}

/**
 * The step that finds out whether a change was carried out.
 * @param beforeLook the beginning of the sentence about the console
 * @param howToRepeat the end of the sentence about repeating
 */
export function stepToVerify(
  call: FollowedCall,
  { beforeLook, howToRepeat }: { readonly beforeLook: SafeText; readonly howToRepeat: SafeText },
): Next {
  const repeatIfWanted = say`and ${theyWant} it, ${howToRepeat}.`;
  const read = followingRead(call);
  if (read !== undefined) return stepToVerifyByRead(call, read, repeatIfWanted);
  const look = say`${forAgent('have the user ')}look in the console for ${call.verificationHint}.`;
  return next('user', 'check', say`${beforeLook} ${look} Only if it is not there ${repeatIfWanted}`);
}

function stepToVerifyByRead(call: FollowedCall, read: SafeText, repeatIfWanted: SafeText): Next {
  const look = say`${forReader({ agent: 'Call', person: 'Look with' })} ${read} to see ${call.verificationHint}.`;
  const { effect } = call.operation;
  const proof = effect === 'alter' ? [compareValues] : sentences(doneSentence(call), notFoundYet(call));
  const condition = words(conditions[effect]);
  return next('agent', 'call', join([look, ...proof, say`Only if ${condition} ${repeatIfWanted}`], ' '));
}

const compareValues = say`Compare its answer with the values that the change was to set: a state that was there before proves nothing.`;

/** The end of "only if", after which a change may be repeated. */
const conditions = {
  read: 'it is still not there after that',
  create: 'it is still not there after that',
  alter: 'they still differ after ten minutes',
  delete: 'it is still there after ten minutes',
} as const;

/** A cloud may list a new thing only minutes later. */
const notFoundYet = ({ operation }: FollowedCall): SafeText | false =>
  operation.effect !== 'delete' && say`"Not found" proves nothing for ten minutes.`;

/** The arguments of the read that shows the progress. Undefined if one of them is not known. */
export function followArguments(
  { operation: { follow }, shownInput }: Pick<FollowedCall, 'operation' | 'shownInput'>,
  record: unknown,
): Readonly<Record<string, unknown>> | undefined {
  const sources = { input: shownInput, answer: record };
  const found = Object.entries(follow?.arguments ?? {}).map(
    ([name, path]) => [name, valueAtSource(sources, path)] as const,
  );
  return found.some(([, value]) => value === undefined) ? undefined : Object.fromEntries(found);
}

/** `get_instance with InstanceId "wiki"`. Undefined if the caller may not use the read. */
function followingRead(call: FollowedCall, record?: unknown): SafeText | undefined {
  const { operation, followTool } = call;
  if (operation.follow === undefined || followTool === undefined) return undefined;

  const found = followArguments(call, record);
  if (found === undefined) return undefined;
  const argumentTexts = Object.entries(found).map(([name, value]) => {
    // In quotation marks, because a value must not pass for our words.
    return say`${own(name)} ${shownValue(value, 200)}`;
  });
  const withArguments = argumentTexts.length === 0 ? words('') : say` with ${join(argumentTexts, ', ')}`;
  // The read of a service is no tool of its own.
  const tool = followTool.includes(':') ? say`read_operation (name ${own(followTool)})` : own(followTool);
  return say`${tool}${withArguments}`;
}

function doneSentence({ operation: { follow, effect } }: FollowedCall): SafeText | false {
  const again = words(effect === 'alter' ? ' again' : '');
  const fields = Object.entries(follow?.done ?? {}).map(
    ([path, value]) => say`${own(path)} is${again} ${quoted(value, 100)}`,
  );
  const ends = sentences(
    fields.length > 0 && say`${listed(fields)}${forAgent(' in its answer')}`,
    follow?.gone === true && words('the thing is not found'),
  );
  const failures = Object.entries(follow?.failed ?? {}).map(([path, values]) => {
    const quotedValues = values.map((value) => quoted(value, 100));
    return say`${own(path)} is ${listed(quotedValues, 'or')}`;
  });
  const failed = failures.length > 0 && say`It has failed if ${listed(failures, 'or')}.`;
  const texts = sentences(ends.length > 0 && say`It is finished when ${listed(ends, 'or')}.`, failed);
  return texts.length > 0 && join(texts, ' ');
}
