import { type Conversation, converse, type Limits } from './conversation.js';
import { judge, type Verdict } from './judge.js';
import type { AskModel } from './model.js';
import type { Event, Run } from './record.js';
import { type SessionOptions, startSession } from './session.js';
import type { Situation } from './situation.js';

/** One run of a situation by a model. */
export interface Tried {
  readonly situation: Situation;
  readonly run: Run;
  readonly verdict: Verdict;
}

export interface TryOptions extends Pick<SessionOptions, 'server' | 'now' | 'readMs'>, Pick<Conversation, 'signal'> {
  readonly ask: AskModel;
  readonly limits: Limits;
  /** Reads a skill that the model gets besides the instructions. Undefined for runs without skills. */
  readonly readSkill?: ((skill: string) => Promise<string>) | undefined;
}

/** Runs a situation with a model and judges the run. Throws an `EvaluationProblem` if the model cannot be asked. */
export async function tryIn(situation: Situation, options: TryOptions): Promise<Tried> {
  const { ask, limits, signal, readSkill, ...session } = options;
  const skill = situation.skill === undefined ? undefined : await readSkill?.(situation.skill);
  const events: Event[] = [];
  const { instructions, tools, call, click, end, close } = await startSession(situation, {
    ...session,
    record: (event) => void events.push(event),
  });
  try {
    const { person } = situation;
    const { stopped, tokens } = await converse(
      { ask, person, instructions, skill, tools, call, click, limits, signal },
      events,
    );
    const run = { events, journal: await end(), stopped, tokens };
    return { situation, run, verdict: judge(situation, run) };
  } finally {
    await close();
  }
}
