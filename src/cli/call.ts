import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import type { CallContext, CallOutcome } from '../calls/context.js';
import type { Config } from '../config/load.js';
import type { Elicitor, Reply } from '../consent/elicitation.js';
import { createConsentTokens } from '../consent/tokens.js';
import { Refusal, refusalFailure } from '../results/refusal.js';
import { textOf } from '../results/text.js';
import { startRuntime } from '../runtime.js';
import type { Operation } from '../tools/define-operation.js';
import { operations } from '../tools/index.js';
import { createLog, type Log, reasonOf } from '../util/log.js';
import { quoteName } from '../util/quote.js';
import { type Command, type Invocation, notOneOf, type Terminal } from './command.js';
import { bar } from './text.js';

/** `cloudops-mcp call`: one call of a tool, the same way an agent's call takes, without an MCP client. */
export const callCommand: Command = {
  usage: '<tool> [<json>|@<file>|-] [--plan] [--yes] [--json]',
  about: 'call a tool; exit code 0 done, 1 failed, 2 usage, 3 no consent, 4 outcome unknown',
  positionals: 2,
  options: { plan: 'switch', yes: 'switch', json: 'switch' },
  run: async (invocation) => {
    const { options, terminal } = invocation;
    const [tool = ''] = invocation.positionals;
    const given = await readInvocation(invocation);
    const outcome =
      given.kind === 'problems'
        ? usageFailure(tool, given.problems)
        : await call(given, options.yes !== undefined, terminal);
    if (options.json !== undefined) terminal.print(`${JSON.stringify(forMachines(tool, outcome))}\n`);
    else if (outcome.kind === 'succeeded') terminal.print(`${textOf(outcome.success)}\n`);
    else terminal.printError(`${textOf(outcome.failure)}\n`);
    return exitCode(outcome, given.kind === 'call' && Object(given.args).planOnly === true);
  },
};

type Ended = Exclude<CallOutcome, { kind: 'inputRequired' }>;

function usageFailure(tool: string, problems: readonly string[]): Ended {
  const refusal = new Refusal('Usage', problems);
  return { kind: 'failed', failure: refusalFailure(tool === '' ? 'The call' : quoteName(tool), refusal, false) };
}

const forMachines = (tool: string, outcome: Ended) =>
  outcome.kind === 'succeeded'
    ? { ok: true, tool, answer: outcome.success }
    : { ok: false, tool, failure: outcome.failure };

function exitCode(outcome: Ended, planned: boolean): number {
  if (outcome.kind === 'succeeded') return outcome.success.outcome === 'planned' && !planned ? 3 : 0;
  const { code, status, mayHaveHappened } = outcome.failure;
  if (mayHaveHappened) return 4;
  // With a status, the code is the service's own.
  if (status !== undefined) return 1;
  if (['Usage', 'InvalidArguments', 'NotAllowed', 'NotConfigured'].includes(code)) return 2;
  return withoutConsent.includes(code) ? 3 : 1;
}

const withoutConsent = ['Declined', 'NobodyAsked', 'TooManyRefusals', 'TooLargeToShow', 'NeedsHuman', 'PlanRefused'];

export interface Given {
  readonly kind: 'call';
  readonly operation: Operation;
  readonly args: unknown;
  readonly config: Config;
}

/** What is to be called and how, or why that cannot be understood. */
export async function readInvocation(
  invocation: Invocation,
): Promise<Given | { readonly kind: 'problems'; readonly problems: readonly string[] }> {
  const { positionals, options, config, terminal } = invocation;
  const [tool = '', given = '{}'] = positionals;
  const operation = operations.find(({ name }) => name === tool);
  const names = operations.map(({ name }) => name);
  if (operation === undefined) return { kind: 'problems', problems: [notOneOf('tool', tool, names)] };
  if (!config.ok) return { kind: 'problems', problems: config.problems };
  const parsed = await readArguments(given, terminal.stdin);
  if ('problem' in parsed) return { kind: 'problems', problems: [parsed.problem] };
  if (options.plan !== undefined && operation.effect === 'read')
    return { kind: 'problems', problems: [`${tool} only reads: there is nothing to plan.`] };
  const args = options.plan === undefined ? parsed.value : { ...Object(parsed.value), planOnly: true };
  return { kind: 'call', operation, args, config: config.config };
}

/** The arguments as they are given, or those of a file or of stdin. What is read is not shown: it may hold a secret. */
async function readArguments(
  given: string,
  stdin: Terminal['stdin'],
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  const source = given === '-' ? 'what stdin gave' : given.startsWith('@') ? quoteName(given.slice(1)) : 'the argument';
  try {
    const json =
      given === '-' ? await text(stdin) : given.startsWith('@') ? await readFile(given.slice(1), 'utf8') : given;
    return { value: JSON.parse(json.replace(/^\uFEFF/, '')) };
  } catch (error) {
    if (!(error instanceof SyntaxError)) return { problem: `${source} cannot be read (${reasonOf(error)})` };
    if (source !== 'the argument') return { problem: `${source} is not JSON` };
    return {
      problem: `${source} is not JSON: write '{"bucket": "b"}' in single quotes, or @file for a file that holds it`,
    };
  }
}

/** A mutation whose call has ended leaves nothing to wait for. */
const graceMs = 1000;

async function call({ operation, args, config }: Given, agreed: boolean, terminal: Terminal): Promise<Ended> {
  const runtime = await startRuntime(config, terminal.version, logFor(config, terminal), terminal.now);
  const signal = terminal.interrupted();
  const progress = progressOn(terminal.stderr, Number(Object(args).expectedParts));
  try {
    const outcome = await runtime.call(operation, args, {
      signal,
      agreed,
      elicitor: elicitorOn(terminal, signal),
      onPage: progress.onPage,
      tokens: createConsentTokens(runtime.server.stateKey, '', terminal.now),
      client: `cloudops-mcp call ${terminal.version}`,
    });
    if (outcome.kind === 'inputRequired') throw new Error('the terminal answers at once');
    if (outcome.kind === 'succeeded' && outcome.success.planId !== undefined) terminal.printError(lastingOf(config));
    return outcome;
  } finally {
    progress.clear();
    await runtime.close(graceMs);
  }
}

/** What to know of a planId that was printed. */
function lastingOf({ sandbox, stateKey }: Config): string {
  const key = sandbox ? '' : ' With CLOUDOPS_STATE_KEY set, another can carry it out.';
  return sandbox || stateKey === undefined
    ? `note: the planId ends with this process.${key} --yes agrees at once.\n`
    : '';
}

/** People read the answer: the log is only for those who ask for it. What an earlier process left open is told to all. */
export function logFor({ origins, logLevel }: Config, { now, printError }: Terminal): Log {
  if (origins.some(({ name }) => name === 'CLOUDOPS_LOG_LEVEL')) return createLog(logLevel, now, printError);
  return (_level, event) => {
    if (event === 'unresolved')
      printError('warning: an earlier change ended without a known outcome; see cloudops-mcp journal.\n');
  };
}

/** Asks the person at the terminal, if there is one. */
function elicitorOn({ stdin, stderr }: Terminal, signal: AbortSignal): Elicitor | undefined {
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  return {
    isDirect: true,
    ask: async (message): Promise<Reply> => {
      stderr.write(`${message}\n\n`);
      // Not as a terminal of its own: then Ctrl-C reaches the process.
      const lines = createInterface({ input: stdin, output: stderr, terminal: false });
      const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
      try {
        const typed = await Promise.race([lines.question('Type yes to go ahead: ', { signal }), closed]);
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

/** Shows on a terminal how much of a long list has been read. `total` is the number of parts, or NaN if it is not known. */
function progressOn(stderr: Terminal['stderr'], total: number) {
  const draw = (line: string) => {
    if (stderr.isTTY) stderr.write(`\r\x1b[K${line}`);
  };
  const onPage: CallContext['onPage'] = (pages, parts) =>
    draw(`${total > 0 ? `${bar(parts / total)} ` : ''}${parts}${total > 0 ? ` of ${total}` : ''} parts, page ${pages}`);
  return { onPage, clear: () => draw('') };
}
