import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import type { CallContext } from '../calls/context.js';
import type { Config } from '../config/load-config.js';
import type { Elicitor, UserReply } from '../consent/elicitor.js';
import type { EndedOutcome, Failure } from '../consent/outcome.js';
import { Refusal, refusalFailure } from '../consent/refusal.js';
import { createConsentTokens } from '../consent/tokens.js';
import type { Store } from '../journal/open-store.js';
import { startRuntime } from '../runtime.js';
import type { Operation } from '../tools/define-operation.js';
import { escapeInvisible, shownReason } from '../util/log.js';
import { isObject, textAt } from '../util/objects.js';
import { exact, own, type SafeText, say, words } from '../util/safe-text.js';
import { failureText, planLines, successText } from './answer-for-people.js';
import {
  bar,
  type Command,
  type Invocation,
  notOneOf,
  pageOf,
  problemsText,
  type Terminal,
  UsageError,
  validConfig,
} from './command.js';
import { printLine } from './layout.js';
import { commandLog } from './terminal-log.js';

/** `cloudops-mcp call`: calls a tool without an MCP client. */
export const callCommand: Command = {
  usage: '<tool> [<json>|@<file>|-] [--account <name>] [--plan] [--yes] [--json]',
  about: 'call a tool; exit code 0 done, 1 failed, 2 usage, 3 no consent, 4 outcome unknown, 5 output lost',
  positionals: 2,
  options: { account: 'value', plan: 'switch', yes: 'switch', json: 'switch' },
  run: async (invocation) => {
    const { options, terminal } = invocation;
    const [tool = ''] = invocation.positionals;
    const call = await readCall(invocation).catch((error: unknown) => {
      if (error instanceof UsageError) return error;
      throw error;
    });
    if (call instanceof UsageError && options.json === undefined) {
      terminal.stderr.write(problemsText(words('cloudops-mcp call'), call.problems, terminal));
      return 2;
    }
    const outcome =
      call instanceof UsageError ? usageFailure(tool, call) : await carryOut(call, options.yes !== undefined, terminal);
    const code = exitCode(outcome, 'args' in call && Object(call.args).planOnly === true);
    if (options.json !== undefined)
      terminal.stdout.write(`${escapeInvisible(JSON.stringify(forMachines(tool, outcome, code)))}\n`);
    else if (outcome.kind === 'succeeded')
      terminal.stdout.write(successText(outcome.success, pageOf(terminal, 'stdout')));
    else terminal.stderr.write(failureText(outcome.failure, pageOf(terminal, 'stderr')));
    return code;
  },
};

function usageFailure(tool: string, { problems }: UsageError): EndedOutcome {
  const refusal = new Refusal('Usage', problems);
  return { kind: 'failed', failure: refusalFailure(tool === '' ? words('The call') : tool, refusal, false) };
}

const forMachines = (tool: string, outcome: EndedOutcome, code: number) =>
  outcome.kind === 'succeeded'
    ? { ok: code === 0, tool, answer: outcome.success }
    : { ok: false, tool, failure: outcome.failure };

/** Outcomes of a change that still needs consent. */
const withoutDecision: readonly (string | undefined)[] = ['planned', 'waiting'];

function exitCode(outcome: EndedOutcome, planned: boolean): number {
  if (outcome.kind === 'succeeded') return withoutDecision.includes(outcome.success.outcome) && !planned ? 3 : 0;
  return failureCode(outcome.failure);
}

export function failureCode({ code, status, mayHaveHappened }: Pick<Failure, 'code' | 'status' | 'mayHaveHappened'>) {
  if (mayHaveHappened) return 4;
  // A failure with a status has a code of the service.
  if (status !== undefined) return 1;
  if (['Usage', 'InvalidArguments', 'NotAllowed', 'NotConfigured'].includes(code)) return 2;
  return withoutConsent.includes(code) ? 3 : 1;
}

const withoutConsent = ['Declined', 'NobodyAsked', 'TooManyRefusals', 'TooLargeToShow', 'NeedsHuman', 'PlanRefused'];

export interface Call {
  readonly operation: Operation;
  readonly args: unknown;
  readonly config: Config;
}

/**
 * Reads a call from the command line.
 * @throws UsageError
 */
export async function readCall(invocation: Invocation): Promise<Call> {
  const { positionals, options, terminal } = invocation;
  const [tool = '', given = '{}'] = positionals;
  const { operations } = invocation;
  const operation = operations.find(({ name }) => name === tool);
  const names = operations.map(({ name }) => name);
  const isNamed = operation !== undefined;
  // If the configuration is invalid, its problems come first: they may be the reason why the tool is unknown.
  if (!isNamed && invocation.config.ok) throw new UsageError(notOneOf('tool', tool, names));
  const config = validConfig(invocation);
  if (!isNamed) throw new UsageError(notOneOf('tool', tool, names));
  const { account } = options;
  if (account !== undefined && !config.accounts.areNamed)
    throw new UsageError(say`--account names an account of CLOUDOPS_ACCOUNTS_FILE, which is not set.`);
  const read = await readArguments(given, terminal.stdin);
  if (account !== undefined && (textAt(read, 'account') ?? account) !== account)
    throw new UsageError(say`--account and the arguments name different accounts; name one.`);
  const args = account === undefined || !isObject(read) ? read : { ...read, account };
  if (options.plan === undefined) return { operation, args, config };
  if (operation.effect === 'read') throw new UsageError(say`${own(tool)} only reads: there is nothing to plan.`);
  return { operation, args: { ...Object(args), planOnly: true }, config };
}

/** Reads the arguments from the command line, a file or stdin. Errors do not quote them, because they may hold a secret. */
async function readArguments(given: string, stdin: Terminal['stdin']): Promise<unknown> {
  const path = given.startsWith('@') ? given.slice(1) : undefined;
  const isArgument = given !== '-' && path === undefined;
  const source = path === undefined ? words(isArgument ? 'the argument' : 'what stdin gave') : own(path);
  const hint = isArgument ? say`: write '{"bucket": "b"}' in single quotes, or @file to read it from a file` : say``;
  try {
    const json = given === '-' ? await text(stdin) : path === undefined ? given : await readFile(path, 'utf8');
    return JSON.parse(json.replace(/^\uFEFF/, ''));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw new UsageError(say`${source} cannot be read (${shownReason(error)})`);
    throw new UsageError(say`${source} is not JSON${hint}`);
  }
}

/** Time limit for closing connections. The call has ended by then (milliseconds). */
const graceMs = 1000;

async function carryOut({ operation, args, config }: Call, agreed: boolean, terminal: Terminal): Promise<EndedOutcome> {
  const runtime = await startRuntime(config, terminal.version, commandLog(config, terminal), terminal.now);
  const signal = terminal.interrupted();
  const progress = progressOn(terminal.stderr, Number(Object(args).expectedParts));
  try {
    const outcome = await runtime.call(operation, args, {
      signal,
      agreed,
      elicitor: askerOn(terminal, signal),
      onPage: progress.onPage,
      tokens: createConsentTokens(runtime.server.stateKeys, '', terminal.now, runtime.server.planKeys),
      client: `cloudops-mcp call ${terminal.version}`,
    });
    if (outcome.kind === 'inputRequired') throw new Error('the terminal answers at once');
    if (outcome.kind === 'succeeded' && outcome.success.planId !== undefined)
      tellLasting(config, runtime.store, terminal.stderr);
    return outcome;
  } finally {
    progress.clear();
    await runtime.close(graceMs);
  }
}

/** Warns if the planId is valid only in this process. */
function tellLasting({ sandbox, stateKeys }: Config, { path }: Store, stderr: Terminal['stderr']): void {
  const key = words(sandbox ? '' : ' With CLOUDOPS_STATE_KEY set, it would be valid in others.');
  if (sandbox || (stateKeys === undefined && path === undefined))
    printLine(stderr, say`note: this planId is valid only in this process; --yes carries the change out.${key}`);
}

/** Asks the user. Undefined if stdin or stderr is no terminal. */
function askerOn(terminal: Terminal, signal: AbortSignal): Elicitor | undefined {
  const { stdin, stderr } = terminal;
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  return {
    isDirect: true,
    show: (plan) => void stderr.write(`${planLines(plan, pageOf(terminal, 'stderr')).join('\n')}\n\n`),
    ask: async (_message, accept): Promise<UserReply> => {
      // With `terminal: true`, Ctrl-C would not reach the process.
      const lines = createInterface({ input: stdin, output: stderr, terminal: false });
      const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
      try {
        const typed = await Promise.race([
          lines.question(say`${accept}? Type yes to go ahead: `.text, { signal }),
          closed,
        ]);
        if (typed === undefined) return 'cancelled';
        return typed.trim() === 'yes' ? 'agreed' : 'declined';
      } catch {
        return 'cancelled';
      } finally {
        lines.close();
      }
    },
  };
}

/** Moves to the beginning of the line and erases it. */
const beginningOfLine = '\r\x1b[K';

/** Shows progress through a long list on a terminal. `total` is the number of parts, or NaN if it is not known. */
function progressOn(stderr: Terminal['stderr'], total: number) {
  const draw = (line: SafeText) => {
    if (stderr.isTTY) stderr.write(`${beginningOfLine}${line}`);
  };
  const onPage: CallContext['onPage'] = (pages, parts) =>
    draw(
      total > 0
        ? say`${exact(bar(parts / total))} ${parts} of ${total} parts, page ${pages}`
        : say`${parts} parts, page ${pages}`,
    );
  return { onPage, clear: () => draw(say``) };
}
