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
  readonly tool: string;
  /** Name of the caller, if callers are authenticated. Other callers do not find the task. */
  readonly caller: string | undefined;
  readonly createdAt: string;
  status: Task['status'];
  progress: string;
  lastUpdatedAt: string;
  result?: CallToolResult;
  readonly stop: () => void;
}

/** Tasks are forgotten after this time (milliseconds). */
const ttlMs = 15 * 60_000;

/** @param taskAfterMs how long a call waits before it becomes a task (milliseconds) */
export function createReadTasks(now: () => Date, taskAfterMs = 5_000) {
  const tasks = new Map<string, Entry>();

  const shown = (taskId: string, { tool, status, progress, createdAt, lastUpdatedAt }: Entry): Task => {
    const statusMessage = `${tool}: ${progress}. The task is in the memory of this server: a restart loses it, and then call again.`;
    return { taskId, status, statusMessage, createdAt, lastUpdatedAt, ttlMs, pollIntervalMs: taskAfterMs };
  };
  const forgetOld = () => {
    for (const [id, { createdAt, stop }] of tasks)
      if (now().getTime() - Date.parse(createdAt) > ttlMs) {
        stop();
        tasks.delete(id);
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
      origin: Pick<Entry, 'tool' | 'caller'>,
      signal: AbortSignal,
      report: (progress: string) => void,
    ) {
      const id = randomBytes(16).toString('base64url');
      const { controller, [Symbol.dispose]: unlink } = linkedController(signal);
      const createdAt = now().toISOString();
      const entry: Entry = {
        ...origin,
        status: 'working',
        progress: 'is still reading',
        createdAt,
        lastUpdatedAt: createdAt,
        stop: () => controller.abort(),
      };
      const change = (changes: Partial<Entry>) =>
        entry.status === 'working' && Object.assign(entry, changes, { lastUpdatedAt: now().toISOString() });
      const reading = read(controller.signal, (progress) => {
        change({ progress });
        if (!tasks.has(id)) report(progress);
      }).finally(unlink);
      const settled = reading.then((result) => change({ status: 'completed', progress: 'has ended', result }));
      settled.catch(() => tasks.delete(id));

      const isLong = await Promise.race([settled.then(() => false), delay(taskAfterMs, true, { ref: false })]);
      forgetOld();
      // Further reads become no tasks, because results take memory.
      if (!isLong || tasks.size >= 20) return reading;
      unlink();
      tasks.set(id, entry);
      return taskResult(shown(id, entry));
    },
    find(id: string, caller: string | undefined) {
      forgetOld();
      const entry = tasks.get(id);
      if (entry === undefined || entry.caller !== caller) return undefined;
      return {
        task: shown(id, entry),
        result: () => entry.result,
        cancel: () => {
          if (entry.status !== 'working') return;
          Object.assign(entry, { status: 'cancelled', progress: 'was cancelled' });
          entry.stop();
        },
      };
    },
  };
}
