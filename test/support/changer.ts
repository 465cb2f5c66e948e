import { expect } from 'vitest';
import type { Elicitor, FormResponse } from '../../src/calls/context.js';
import type { CallOutcome, Failure, Success } from '../../src/calls/outcome.js';
import { writeScope } from '../../src/calls/policy.js';
import type { Change, JournalEntry } from '../../src/changes/change.js';
import type { Click } from '../../src/changes/decide.js';
import type { Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import type { WireRequest } from '../../src/transport/request.js';
import type { FinalReply } from '../../src/transport/signed-client.js';
import { contextOf, memoryStore, type TestCallerOptions, type TestContext, testCaller } from './caller.js';
import { answered, scriptedClient } from './scripted-client.js';

export const start = Date.parse('2026-11-21T12:00:00Z');
export const alice = { name: 'alice', personId: 'person-alice', scopes: [writeScope] };
export const restore = { backupId: 'a'.repeat(32), instanceId: 'one' };

export interface ChangerOptions extends TestCallerOptions {
  /** The tool of `call`. Default: restore_instance. */
  readonly operation?: Operation;
  /** The clock of another server that shares the store. */
  readonly clock?: { time: number };
  /** In place of a cloud that accepts every change. Unused with `httpClient`. */
  readonly reply?: (request: WireRequest) => Promise<FinalReply>;
}

const acceptEvery = async () => answered(200, { instance: { instanceId: 'one' } });

/** A server whose cloud accepts every change, the agent of alice who calls it, and a clock that the test moves. */
export function changer(options: ChangerOptions = {}) {
  const { operation = restoreInstance, clock = { time: start }, reply = acceptEvery } = options;
  const now = () => new Date(clock.time);
  const { openClient, requests } = scriptedClient(reply);
  const store = options.store ?? memoryStore(now);
  const scripted = options.httpClient === undefined ? { openClient } : {};
  const caller = testCaller('http://127.0.0.1:1', { confirm: 'human', ...scripted, now, ...options, store });
  const contextOfAlice = (given: TestContext = {}) => contextOf({ principal: alice, ...given });
  const callOf = (tool: Operation, args: object, context?: TestContext) =>
    caller.carryOut(tool, args, contextOfAlice(context));
  const call = (args: object = {}, context?: TestContext) =>
    callOf(operation, operation === restoreInstance ? { ...restore, ...args } : args, context);
  /** The row of a change that an outcome names. */
  const changeOf = async (outcome: CallOutcome): Promise<Change> => {
    const change = await store.find(changeIdOf(outcome));
    if (change === undefined) throw new Error('the store has no such change');
    return change;
  };
  return {
    ...caller,
    clock,
    now,
    requests,
    store,
    callOf,
    call,
    changeOf,
    /** What `get_change`, `withdraw_change` and `confirm_change` answer. */
    get: (id: string, context?: TestContext) => caller.changes.get(id, contextOfAlice(context)),
    withdraw: (id: string, context?: TestContext) => caller.changes.withdraw(id, contextOfAlice(context)),
    confirm: (id: string, thing = restore.instanceId, context?: TestContext) =>
      caller.changes.confirm({ id, thing }, contextOfAlice(context)),
    /** A click on the plan of an outcome, after three seconds. */
    click: async (outcome: CallOutcome, click: Partial<Click> = {}, { afterMs = 3000 } = {}) => {
      clock.time += afterMs;
      const change = await changeOf(outcome);
      return caller.changes.click(change, { decision: 'accept', where: 'view', ...click }, contextOfAlice());
    },
    /** All changes that were decided, oldest first. */
    journal: async () => {
      const entries: JournalEntry[] = [];
      for await (const entry of store.read({})) entries.push(entry);
      return entries;
    },
    /** A person who answers a form after a time, and the questions that were asked. */
    personOf: (
      kind: FormResponse['kind'] | 'later',
      { afterMs = 5000, reason = undefined as string | undefined } = {},
    ) => {
      const asked: string[] = [];
      const elicitor: Elicitor = {
        ask: async (message) => {
          asked.push(message.text);
          clock.time += afterMs;
          return kind === 'later' ? kind : { kind, reason };
        },
      };
      return { elicitor, asked };
    },
  };
}

export const successOf = (outcome: CallOutcome): Success => {
  if (outcome.kind !== 'succeeded') throw new Error(`the call ended as ${JSON.stringify(outcome)}`);
  return outcome.success;
};

export const changeIdOf = (outcome: CallOutcome): string => {
  if (outcome.kind === 'inputRequired') throw new Error('the call ended as a question');
  return (outcome.kind === 'failed' ? outcome.failure : outcome.success).changeId ?? 'none';
};

/** The failure of a call that sent nothing. */
export const failed = (code: Failure['code'], ...problems: readonly string[]) => ({
  kind: 'failed',
  failure: { code, problems: problems.map((problem) => expect.stringContaining(problem)), mayHaveHappened: false },
});
export const accepted = { kind: 'succeeded', success: { outcome: 'accepted' } };
