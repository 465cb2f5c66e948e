import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { CallToolResult } from '@modelcontextprotocol/server';
import { linkedController } from '../util/time-limit.js';
import { noteForModel } from './client-quirks.js';

/** This file keeps reads that take long as tasks, in the memory of this process. A restart loses them, as their messages say. */

export interface Task extends Readonly<Record<string, unknown>> {
  readonly status: 'working' | 'completed' | 'cancelled';
  readonly statusMessage: string;
}

export const taskResult = (task: Task): CallToolResult => ({
  ...task,
  resultType: 'task',
  content: [],
  _meta: noteForModel(task.statusMessage),
});

/** Runs a read until the signal aborts. `report` gets its progress in words. */
export type Read = (signal: AbortSignal, report: (progress: string) => void) => Promise<CallToolResult>;

export type ReadTasks = ReturnType<typeof createReadTasks>;

interface Entry {
  /** Name of the caller, if callers are authenticated. Other callers do not find the task. */
  readonly caller: string | undefined;
  /** Milliseconds since 1970. */
  readonly since: number;
  task: Task;
  result?: CallToolResult | undefined;
  readonly cancel: () => void;
}

/** Tasks are forgotten after this time (milliseconds). */
const ttlMs = 15 * 60_000;

/** @param taskAfterMs how long a call waits before it becomes a task (milliseconds) */
export function createReadTasks(now: () => Date, taskAfterMs = 5_000) {
  const entries = new Map<string, Entry>();

  const forgetOld = () => {
    for (const [id, { since, cancel }] of entries)
      if (now().getTime() - since > ttlMs) {
        cancel();
        entries.delete(id);
      }
  };

  return {
    /**
     * Runs a read. Returns its result, or its task if it takes long.
     * @param signal aborts when the client cancels the call
     * @param report gets the progress until there is a task
     */
    async run(
      read: Read,
      { tool, caller }: { readonly tool: string; readonly caller: string | undefined },
      signal: AbortSignal,
      report: (progress: string) => void,
    ) {
      const taskId = randomBytes(16).toString('base64url');
      const { controller, [Symbol.dispose]: unlink } = linkedController(signal);
      const since = now().getTime();
      const taskWith = (status: Task['status'], progress: string): Task => ({
        taskId,
        status,
        statusMessage: `${tool}: ${progress}. The task is in the memory of this server: a restart loses it, and then call again.`,
        createdAt: new Date(since).toISOString(),
        lastUpdatedAt: now().toISOString(),
        ttlMs,
        pollIntervalMs: taskAfterMs,
      });
      const update = (status: Task['status'], progress: string, result?: CallToolResult) => {
        if (entry.task.status === 'working') Object.assign(entry, { task: taskWith(status, progress), result });
      };
      const cancel = () => {
        update('cancelled', 'was cancelled');
        controller.abort();
      };
      const entry: Entry = { caller, since, cancel, task: taskWith('working', 'is still reading') };
      const reading = read(controller.signal, (progress) => {
        update('working', progress);
        if (!entries.has(taskId)) report(progress);
      }).finally(unlink);
      const settled = reading.then((result) => update('completed', 'has ended', result));
      settled.catch(() => entries.delete(taskId));

      const isLong = await Promise.race([settled.then(() => false), delay(taskAfterMs, true, { ref: false })]);
      forgetOld();
      // Further reads become no tasks, because results take memory.
      if (!isLong || entries.size >= 20) return reading;
      unlink();
      entries.set(taskId, entry);
      return taskResult(entry.task);
    },
    find(id: string, caller: string | undefined) {
      forgetOld();
      const entry = entries.get(id);
      if (entry === undefined || entry.caller !== caller) return undefined;
      return { task: entry.task, result: () => entry.result, cancel: entry.cancel };
    },
  };
}
