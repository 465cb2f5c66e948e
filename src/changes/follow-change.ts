import type { ResolvedChange } from '../calls/resolved-call.js';
import type { Follow } from '../tools/define-operation.js';
import { callAgain, forAgent, type Next, next, theyWant } from '../tools/next.js';
import { place } from '../tools/schema/zones.js';
import { sentences } from '../util/human.js';
import { textsAt, valueAt } from '../util/objects.js';
import { defined, forReader, join, listed, own, quoted, type SafeText, say, time, words } from '../util/safe-text.js';

/** The parts of a call that determine how the progress of its change can be followed. */
export type FollowedCall = Pick<
  ResolvedChange,
  'operation' | 'change' | 'endpoint' | 'shownInput' | 'followTool' | 'verificationHint'
>;

/**
 * The step after an accepted change: call the read that shows its progress, or look in the console if there is no such read.
 * @param tellOutcome the sentence before the step, about what the model tells the user
 * @param record the record of the answer, from which the arguments of the read may come. Undefined if it is not known
 */
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
 * The step that finds out whether a change was carried out, and repeats it if not. If no read shows that, a person looks in the console: `Wait
 * ten minutes, then look in the console for a server "wiki". Only if it is not there and you still want it, try again with allowRepeat: true.`
 * @param beforeLook the beginning of the sentence about the console. Unused if a read shows whether the change was carried out
 * @param howToRepeat the end of the sentence about repeating the change
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

/**
 * The step that calls a read: `Call get_instance with InstanceId "wiki" to see a server "wiki". It is finished when Instance.State is "RUNNING" in
 * its answer. "Not found" proves nothing for ten minutes. Only if it is still not there after that and they still want it, call again.` After an
 * alteration: `Call … . Compare its answer with … . Only if they still differ after ten minutes and they still want it, call again.`
 */
function stepToVerifyByRead(call: FollowedCall, read: SafeText, repeatIfWanted: SafeText): Next {
  const look = say`${forReader({ agent: 'Call', person: 'Look with' })} ${read} to see ${call.verificationHint}.`;
  const { effect } = call.operation;
  const proof = effect === 'alter' ? [compareValues] : sentences(doneSentence(call), notFoundYet(call));
  const condition = words(conditions[effect]);
  return next('agent', 'call', join([look, ...proof, say`Only if ${condition} ${repeatIfWanted}`], ' '));
}

/** Only the changed values prove an alteration, because the thing was there before, and its state (`follow.done`) was probably the same. */
const compareValues = say`Compare its answer with the values that the change was to set: a state that was there before proves nothing.`;

/** The end of "only if", after which a change may be repeated. */
const conditions = {
  read: 'it is still not there after that',
  create: 'it is still not there after that',
  alter: 'they still differ after ten minutes',
  delete: 'it is still there after ten minutes',
} as const;

/** A cloud may list a new thing only minutes after it accepted the change. A thing that was deleted is not found at the end. */
const notFoundYet = ({ operation }: FollowedCall): SafeText | false =>
  operation.effect !== 'delete' && say`"Not found" proves nothing for ten minutes.`;

/**
 * Describes the call of the read that shows the progress of a change: `get_instance with InstanceId "wiki"`. Returns undefined if the change
 * has no such read, if the caller may not use the read, or if an argument is not known.
 */
function followingRead(call: FollowedCall, record?: unknown): SafeText | undefined {
  const { operation, followTool } = call;
  if (operation.follow === undefined || followTool === undefined) return undefined;

  // The paths in `follow.arguments` begin with `input` or `answer`.
  const sources = { input: call.shownInput, answer: record };
  const argumentTexts: SafeText[] = [];
  for (const [name, path] of Object.entries(operation.follow.arguments)) {
    const value = valueAtSource(sources, path);
    if (value === undefined) return undefined;
    // A value must not pass for our words, so texts are in quotation marks: `quoted` adds them, and JSON does for texts inside other values.
    const valueText = typeof value === 'string' ? quoted(value, 200) : defined(JSON.stringify(value));
    argumentTexts.push(say`${own(name)} ${valueText}`);
  }
  const withArguments = argumentTexts.length === 0 ? words('') : say` with ${join(argumentTexts, ', ')}`;
  return say`${own(followTool)}${withArguments}`;
}

function valueAtSource(sources: object, source: Follow['arguments'][string]): unknown {
  if (typeof source !== 'string') {
    const value = valueAt(sources, source[0]);
    return value === undefined ? undefined : [value];
  }
  if (!source.includes('[]')) return valueAt(sources, source);
  const values = textsAt(sources, source);
  return values.length === 0 ? undefined : values;
}

/**
 * `It is finished when Instance.State is "RUNNING".`, or false if the operation does not say it. After an alteration, the sentence says `again`,
 * because most things have the same state before.
 */
function doneSentence({ operation: { follow, effect } }: FollowedCall): SafeText | false {
  const again = words(effect === 'alter' ? ' again' : '');
  const fields = Object.entries(follow?.done ?? {}).map(
    ([path, value]) => say`${own(path)} is${again} ${quoted(value, 100)}`,
  );
  const ends = [
    ...(fields.length === 0 ? [] : [say`${listed(fields)}${forAgent(' in its answer')}`]),
    ...(follow?.gone === true ? [words('the thing is not found')] : []),
  ];
  const failures = Object.entries(follow?.failed ?? {}).map(([path, values]) => {
    const quotedValues = values.map((value) => quoted(value, 100));
    return say`${own(path)} is ${listed(quotedValues, 'or')}`;
  });
  const failed = failures.length > 0 && say`It has failed if ${listed(failures, 'or')}.`;
  const texts = sentences(ends.length > 0 && say`It is finished when ${listed(ends, 'or')}.`, failed);
  return texts.length > 0 && join(texts, ' ');
}
