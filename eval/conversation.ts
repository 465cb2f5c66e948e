import type { AskModel, Message, ModelReply, ModelTool } from './model.js';
import { type Answer, createPerson, type Person } from './person.js';
import type { Event, Tokens } from './record.js';

/** Limits for one situation. */
export interface Limits {
  /** Maximum number of answers of the model. */
  readonly turns: number;
  readonly calls: number;
  readonly tokens: number;
  readonly minutes: number;
}

/** Maximum characters of a tool's result that the model gets. */
const longestResult = 60_000;

export interface Conversation {
  readonly ask: AskModel;
  readonly person: Person;
  readonly instructions: string;
  readonly skill: string | undefined;
  readonly tools: readonly ModelTool[];
  readonly call: (tool: string, args: Readonly<Record<string, unknown>>, signal: AbortSignal) => Promise<string>;
  /** Agrees to the plans that the client shows in views. */
  readonly click: () => Promise<void>;
  readonly limits: Limits;
  readonly signal: AbortSignal;
}

/**
 * Lets a model work until the person has nothing more to say or a limit is reached. Resolves with the limit, if one was reached.
 * @param events receives the events of the run
 */
export async function converse(
  { ask, person, instructions, skill, tools, call, click, limits, signal: stop }: Conversation,
  events: Event[],
): Promise<{ readonly stopped: string | undefined; readonly tokens: Tokens }> {
  const answer = createPerson(person);
  const messages: Message[] = [
    { role: 'system', content: systemText(instructions, skill) },
    { role: 'user', content: person.task },
  ];
  events.push({ kind: 'person', text: person.task, permits: false });
  const tooLong = AbortSignal.timeout(limits.minutes * 60_000);
  const signal = AbortSignal.any([stop, tooLong]);
  const used = { turns: 0, calls: 0, tokens: 0, isEstimate: false };
  const ended = (stopped: string | undefined) => {
    return { stopped, tokens: { count: used.tokens, isEstimate: used.isEstimate } };
  };

  /** Makes the tool calls of a message, one after the other. */
  const work = async (calls: ModelReply['calls']) => {
    for (const { id, tool, args } of calls) {
      if (used.calls >= limits.calls) return;
      used.calls += 1;
      events.push({ kind: 'call', tool, args });
      const text =
        args === undefined ? 'The arguments are no JSON object. Nothing was called.' : await call(tool, args, signal);
      events.push({ kind: 'result', tool, text });
      messages.push({ role: 'tool', tool_call_id: id, content: bounded(text) });
    }
  };

  /** Records the words of the person, and makes their clicks. */
  const hear = async ({ kind, text, permits, clicks }: Answer) => {
    if (kind === 'closing') events.push({ kind: 'closing' });
    events.push({ kind: 'person', text, permits });
    if (clicks) await click();
    messages.push({ role: 'user', content: text });
  };

  try {
    for (;;) {
      const bound = boundReached(used, limits);
      if (bound !== undefined) return ended(bound);
      const { message, text, calls, tokens } = await ask(messages, tools, signal);
      used.turns += 1;
      used.tokens += tokens.count;
      used.isEstimate ||= tokens.isEstimate;
      messages.push(message);
      if (text.trim() !== '') events.push({ kind: 'model', text });
      if (calls.length > 0) {
        await work(calls);
        continue;
      }
      const said = answer(text, events);
      if (said === undefined) return ended(undefined);
      await hear(said);
    }
  } catch (error) {
    stop.throwIfAborted();
    if (tooLong.aborted) return ended(`after ${limits.minutes} minutes`);
    throw error;
  }
}

const systemText = (instructions: string, skill: string | undefined) =>
  `You are the assistant of an engineer. Your tools are those of the MCP server "cloudops-mcp", which says:\n\n${instructions}${
    skill === undefined ? '' : `\n\nThis skill fits the task:\n\n${skill}`
  }`;

const bounded = (text: string) =>
  text.length <= longestResult ? text : `${text.slice(0, longestResult)}\n(cut after ${longestResult} characters)`;

function boundReached(used: Readonly<Record<'turns' | 'calls' | 'tokens', number>>, limits: Limits) {
  if (used.turns >= limits.turns) return `after ${limits.turns} answers of the model`;
  if (used.calls >= limits.calls) return `after ${limits.calls} calls`;
  return used.tokens >= limits.tokens ? `after ${used.tokens} tokens` : undefined;
}
