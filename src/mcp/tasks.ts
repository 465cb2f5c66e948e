import {
  type CallToolResult,
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import * as z from 'zod';
import type { ChangeTools, SeenChange } from '../call-stack.js';
import type { CallContext } from '../calls/context.js';
import type { EndedOutcome } from '../calls/outcome.js';
import { refusalFailure } from '../calls/refusal.js';
import type { Change } from '../changes/change.js';
import { keptMs } from '../changes/change-table.js';
import { sentences } from '../util/human.js';
import { lazy } from '../util/objects.js';
import { exact, join, type SafeText, say, time } from '../util/safe-text.js';
import { type Client, tasksExtension } from './client.js';
import { type ReadTasks, type Task, taskResult } from './read-tasks.js';

/**
 * This file serves tasks (the extension `io.modelcontextprotocol/tasks`, SEP-2663). The task of a change is its row: the task ID is the
 * `changeId`, and each request reads the row again, so these tasks survive restarts, and any replica answers.
 */

interface TaskContext {
  readonly changes: ChangeTools;
  readonly reads: ReadTasks;
  readonly requestOf: (requestContext: ServerContext) => {
    readonly client: Client;
    readonly context: CallContext;
    readonly resultOf: (outcome: EndedOutcome) => CallToolResult;
  };
}

const paramsSchema = lazy(() => z.looseObject({ taskId: z.string() }));

export function serveTasks(server: Server, { changes, reads, requestOf }: TaskContext): void {
  const params = paramsSchema();

  const findTask = async (taskId: string, requestContext: ServerContext) => {
    const { client, context, resultOf } = requestOf(requestContext);
    if (client.tasks !== true)
      throw new MissingRequiredClientCapabilityError({
        requiredCapabilities: { extensions: { [tasksExtension]: {} } },
      });
    const read = reads.find(taskId, context.principal?.name);
    if (read !== undefined) return read;
    const seen = await changes.look(taskId, context);
    const { InvalidParams, InternalError } = ProtocolErrorCode;
    if (seen.kind === 'refused') {
      const code = seen.code === 'UnknownChange' ? InvalidParams : InternalError;
      throw new ProtocolError(code, refusalFailure('The task', seen, { isChange: true }).summary.text);
    }
    return {
      task: taskOf(seen),
      result: () => resultOf(seen.outcome),
      cancel: async () => {
        if (seen.change.state !== 'waiting') return;
        const outcome = await changes.withdraw(taskId, context);
        if (outcome.kind === 'failed' && outcome.failure.code === 'StateUnavailable')
          throw new ProtocolError(InternalError, outcome.failure.summary.text);
      },
    };
  };

  server.setRequestHandler('tasks/get', { params }, async ({ taskId }, requestContext) => {
    const { task, result } = await findTask(taskId, requestContext);
    return task.status === 'completed' ? { ...task, result: { ...result(), resultType: 'complete' } } : task;
  });

  // Ignores the responses, because a task asks for nothing: a task ID proves nothing, so the question of a call comes before its task.
  server.setRequestHandler('tasks/update', { params }, async ({ taskId }, requestContext) => {
    await findTask(taskId, requestContext);
    return {};
  });

  server.setRequestHandler('tasks/cancel', { params }, async ({ taskId }, requestContext) => {
    const { cancel } = await findTask(taskId, requestContext);
    await cancel();
    return {};
  });
}

/** Returns the task of a change that a call leaves open. Undefined if the call has its result. */
export async function taskAfterCall(
  outcome: EndedOutcome,
  changes: ChangeTools,
  context: CallContext,
): Promise<CallToolResult | undefined> {
  const { outcome: state, changeId } = outcome.kind === 'succeeded' ? outcome.success : {};
  if (changeId === undefined || (state !== 'waiting' && state !== 'accepted')) return undefined;
  const seen = await changes.look(changeId, context);
  const isOpen = seen.kind === 'seen' && (state === 'waiting' || seen.isGoing);
  if (!isOpen) return undefined;
  return taskResult(taskOf(seen));
}

function taskOf({ change, isGoing, outcome }: SeenChange): Task {
  const { id, madeAt, decidedAt, begunAt, endedAt } = change;
  return {
    taskId: id,
    status: isGoing ? 'working' : statusOf(change),
    statusMessage: messageOf(change, isGoing, outcome).text,
    createdAt: new Date(madeAt).toISOString(),
    lastUpdatedAt: new Date(endedAt ?? begunAt ?? decidedAt ?? madeAt).toISOString(),
    // The journal keeps what was decided.
    ttlMs: change.state === 'waiting' ? change.expiresAt - madeAt + keptMs : null,
    // How often clients look for a decision.
    pollIntervalMs: 5_000,
  };
}

function statusOf({ state, isExpired }: Change): Task['status'] {
  if (state === 'withdrawn') return 'cancelled';
  const isOpen = state === 'approved' || state === 'begun' || (state === 'waiting' && !isExpired);
  return isOpen ? 'working' : 'completed';
}

/** Says who has to decide, or what has happened. The address of the page is public, because people sign in there. */
function messageOf({ state }: Change, isGoing: boolean, outcome: EndedOutcome): SafeText {
  if (outcome.kind === 'failed') return outcome.failure.summary;
  const { summary, decideAt, planExpires } = outcome.success;
  return join(
    sentences(
      summary,
      planExpires !== undefined && say`The plan expires at ${time(planExpires)}.`,
      decideAt !== undefined && say`The page: ${exact(decideAt)}`,
      (isGoing || state === 'approved' || state === 'begun') && say`It cannot be taken back any more.`,
    ),
    ' ',
  );
}
