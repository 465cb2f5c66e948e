import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import { styleText } from 'node:util';
import type { Elicitor } from '../calls/context.js';
import type { EndedOutcome, Plan } from '../calls/outcome.js';
import { Refusal, refusalFailure } from '../calls/refusal.js';
import { attemptsText, resultText } from '../calls/result-text.js';
import { planDetails } from '../changes/plan.js';
import { isTyped, notTyped, typePrompt } from '../changes/typed-name.js';
import { changeToolNames } from '../mcp/server-tools.js';
import { callChangeTool } from '../mcp/tools-of-changes.js';
import { openServices, startRuntime } from '../runtime.js';
import type { Translator } from '../util/language.js';
import { crashFacts, errorName, shownReason } from '../util/log.js';
import { isObject, textAt, valueAt } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';
import { linesOf, own, type SafeText, say, withTimes, words } from '../util/safe-text.js';
import { type Command, type Invocation, notOneOf, type Terminal, UsageError, validConfig } from './command.js';
import { columnsOf, localTimeIn, printLine, wrapped } from './layout.js';
import { commandLog } from './terminal-log.js';

/** `cloudops-mcp call` calls a tool without an MCP client. */
export const callCommand: Command = {
  usage: '<tool> [<json>|@<file>|-] [--account <name>] [--plan] [--yes] [--json]',
  about: 'call a tool',
  details:
    '--plan only shows the plan of a change, --yes agrees to it beforehand. --json prints the data of the result in place of its text. ' +
    'The arguments of a tool: cloudops-mcp call <tool> --help.',
  example: `call list_parts '{"bucket": "photos", "object": "a.jpg", "uploadId": "u-9"}'`,
  exitCodes: {
    0: 'done',
    1: 'it failed: refused by the cloud, no answer, a repetition, or no journal',
    2: 'wrong usage, arguments or configuration; nothing was sent',
    3: 'no consent; nothing was sent',
    4: 'the outcome of a change is unknown: look in the console before you repeat it',
    5: 'done, but the output could not be written',
    6: 'a change was done in part; the answer names the entries that failed',
  },
  positionals: 2,
  options: { account: 'value', plan: 'switch', yes: 'switch', json: 'switch' },
  run: async (invocation) => {
    const { options, terminal } = invocation;
    const [tool = ''] = invocation.positionals;
    try {
      const call = await readCall(invocation);
      const agreed = options.yes !== undefined;
      const outcome = await execute(call, agreed, terminal);
      return print(tool, outcome, valueAt(call.args, 'planOnly') === true, invocation);
    } catch (error) {
      if (!(error instanceof UsageError) || options.json === undefined) throw error;
      const subject = tool === '' ? words('The call') : tool;
      const failure = refusalFailure(subject, new Refusal('Usage', error.problems), { isChange: false });
      return print(tool, { kind: 'failed', failure }, false, invocation);
    }
  },
};

/** Prints the text of an outcome, or its data. Returns the exit code. */
function print(tool: string, outcome: EndedOutcome, isPlanOnly: boolean, { options, terminal }: Invocation): number {
  const { stdout, stderr } = terminal;
  const code = exitCodeOf(outcome, isPlanOnly);
  if (options.json !== undefined) {
    // `ok` is false if the exit code is not 0. Programs rely on the name `answer` for the whole success.
    const data = outcome.kind === 'failed' ? { failure: outcome.failure } : { answer: outcome.success };
    stdout.write(`${escapeJson(JSON.stringify({ ok: code === 0, tool, ...data }))}\n`);
  } else if (outcome.kind === 'failed') {
    const { failure } = outcome;
    // With an HTTP status, the code "Declined" would be the cloud's.
    const isOwnDecline = failure.code === 'Declined' && failure.status === undefined;
    stderr.write(`${isOwnDecline ? 'Nothing was sent: you did not agree to it.' : resultText(failure)}\n`);
  } else {
    stdout.write(`${resultText(outcome.success)}\n`);
    // The text of a `waiting` plan already says where to decide.
    if (code === noConsentCode && outcome.success.outcome === 'planned')
      printLine(stderr, words('note: nobody was asked, and nothing was sent; --yes agrees beforehand.'));
  }
  return code;
}

const noConsentCode = 3;

function exitCodeOf(outcome: EndedOutcome, isPlanOnly: boolean): number {
  if (outcome.kind === 'succeeded') {
    const { outcome: state } = outcome.success;
    // `planned` asked no person. With `waiting`, a person can still decide.
    if ((state === 'planned' || state === 'waiting') && !isPlanOnly) return noConsentCode;
    return state === 'partly' ? 6 : 0;
  }
  const { code, status, mayHaveHappened } = outcome.failure;
  if (mayHaveHappened) return 4;
  // With an HTTP status, the code is the service's, and may only look like a code of this server.
  return status === undefined ? (exitCodes.get(code) ?? 1) : 1;
}

const exitCodes: ReadonlyMap<string, number> = new Map([
  ['NothingToDo', 0],
  ...['Usage', 'InvalidArguments', 'NotAllowed', 'NotConfigured'].map((code) => [code, 2] as const),
  ...['Declined', 'NobodyAsked', 'WrongName', 'TooManyRefusals', 'TooLargeToShow', 'NeedsHuman', 'PlanRefused'].map(
    (code) => [code, noConsentCode] as const,
  ),
]);

/** Reads a call from the command line. The arguments are checked only by the call itself. @throws UsageError */
async function readCall(invocation: Invocation) {
  const { positionals, options, operations, terminal } = invocation;
  const [tool = '', argument = '{}'] = positionals;
  // Problems of the configuration come first, because they may be why the tool is unknown.
  const config = validConfig(invocation);
  const services = openServices(config, terminal.version, commandLog(config, terminal));
  const found = services !== undefined && tool.includes(':') ? await services.find(tool) : undefined;
  if (found?.kind === 'unknown') throw new UsageError(say`${found.problem}.`);
  const operation = found?.operation ?? operations.find(({ name }) => name === tool);
  if (operation === undefined && !changeToolNames.includes(tool)) {
    const tools = operations.map(({ name }) => name);
    throw new UsageError(notOneOf('tool', tool, tools));
  }

  const { account } = options;
  if (account !== undefined && !config.accounts.areNamed)
    throw new UsageError(say`--account names an account of CLOUDOPS_ACCOUNTS_FILE, which is not set.`);
  const json = await readArguments(argument, terminal.stdin);
  const accountInJson = textAt(json, 'account');
  if (account !== undefined && accountInJson !== undefined && accountInJson !== account)
    throw new UsageError(say`--account and the arguments name different accounts; name one.`);

  // The call refuses JSON that is no object.
  const args = account !== undefined && isObject(json) ? { ...json, account } : json;
  if (options.plan === undefined) return { tool, operation, args, config };
  if (operation?.change === undefined) throw new UsageError(say`${own(tool)} only reads: there is nothing to plan.`);
  // Without `planOnly`, which only an object can hold, the call would send the change.
  if (!isObject(args)) throw new UsageError(say`With --plan, the arguments have to be a JSON object.`);
  return { tool, operation, args: { ...args, planOnly: true }, config };
}

/** Reads the arguments. Errors do not quote them, because they may hold a secret. */
async function readArguments(argument: string, stdin: Terminal['stdin']): Promise<unknown> {
  const path = argument.startsWith('@') ? argument.slice(1) : undefined;
  const isInline = argument !== '-' && path === undefined;
  const sourceName = path === undefined ? words(isInline ? 'the argument' : 'what stdin gave') : own(path);
  const hint = isInline ? say`: write '{"bucket": "b"}' in single quotes, or @file to read it from a file` : say``;
  try {
    let json = argument;
    if (argument === '-') json = await text(stdin);
    if (path !== undefined) json = await readFile(path, 'utf8');
    return JSON.parse(json.replace(/^\uFEFF/, ''));
  } catch (error) {
    if (error instanceof SyntaxError) throw new UsageError(say`${sourceName} is not JSON${hint}`);
    throw new UsageError(say`${sourceName} cannot be read (${shownReason(error)})`);
  }
}

/** Makes the call, and asks for consent unless the user agreed beforehand. */
async function execute(
  { tool: name, operation, args, config }: Awaited<ReturnType<typeof readCall>>,
  agreed: boolean,
  terminal: Terminal,
): Promise<EndedOutcome> {
  const log = commandLog(config, terminal);
  const runtime = await startRuntime(config, terminal.version, log, terminal.now);
  const signal = terminal.abortOnSignal();

  // An error in a timer or a promise must not end the process while a change is under way.
  const onUncaught = (error: unknown) => {
    log('error', 'crash', crashFacts(error));
    const kind = own(errorName(error));
    printLine(terminal.stderr, say`warning: an error that nothing caught (${kind}); the call goes on.`);
  };
  process.on('uncaughtException', onUncaught);

  const { stderr } = terminal;
  // A broken line could not be erased.
  const showProgress = (text: SafeText) => {
    if (stderr.isTTY) stderr.write(`${eraseLine}${wrapped(text, columnsOf(stderr) - 1)[0] ?? ''}`);
  };
  try {
    const client = {
      name: `cloudops-mcp call ${terminal.version}`,
      wantsWholeAnswer: true,
      elicitor: elicitorOn(terminal, signal, runtime.server.translator),
    };
    if (operation === undefined) return await callChangeTool(name, args, runtime.server.changes, { signal, client });
    const outcome = await runtime.server.call(operation, args, {
      client,
      signal,
      ...(agreed && { brought: { kind: 'consent' } }),
      watch: {
        onPage: (pages, entries) => showProgress(say`${own(name)}: ${entries} entries, page ${pages}`),
        onRetry: (failed) =>
          showProgress(say`${own(name)}: attempt ${failed.length + 1}; ${attemptsText(failed) ?? words('')}`),
      },
    });
    // Only clients that send the user's answer with a second request get this outcome.
    if (outcome.kind === 'inputRequired') throw new Error('the terminal answers at once');
    return outcome;
  } finally {
    if (stderr.isTTY) stderr.write(eraseLine);
    await runtime.close(1_000);
    process.off('uncaughtException', onUncaught);
  }
}

const eraseLine = '\r\x1b[K';

/** Asks for consent at the terminal. Undefined if stdin or stderr is no terminal, because no person could answer. */
function elicitorOn(terminal: Terminal, signal: AbortSignal, { translate: t }: Translator): Elicitor | undefined {
  const { stdin, stderr } = terminal;
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  return {
    // The person is at this terminal, so quick answers, long plans and many questions are allowed.
    isDirect: true,
    show: (plan) => void stderr.write(`${eraseLine}${planForQuestion(plan, terminal, t).join('\n')}\n`),
    /** Only `nameToType` or, without it, "yes" agrees. */
    ask: async (question, _acceptLabel, _cancel, nameToType) => {
      // With `terminal: true`, readline would handle Ctrl-C itself.
      const reader = createInterface({ input: stdin, terminal: false, signal });
      const iterator = reader[Symbol.asyncIterator]();
      /** Resolves with undefined after Ctrl-C, or if stdin has ended or failed. */
      const readLine = async (prompt: string): Promise<string | undefined> => {
        stderr.write(prompt);
        const next = await iterator.next().catch(() => ({ done: true }) as const);
        if (!next.done) return next.value.trim();
        printLine(stderr, '');
        return undefined;
      };

      const consentWord = nameToType ?? 'yes';
      const shownQuestion = questionLines(t(question), terminal).join('\n');
      try {
        const line = await readLine(`${shownQuestion}\n${t(say`To decline, type no. ${typePrompt(consentWord)}`)}\n> `);
        if (line === undefined) return { kind: 'cancelled' };
        if (isTyped(consentWord, line)) return { kind: 'agreed' };
        const isRefusal = ['', 'n', 'no'].includes(line.toLowerCase());
        if (nameToType !== undefined && !isRefusal) {
          printLine(stderr, t(notTyped));
          return { kind: 'wrongName' };
        }

        // An empty line declines without a question for the reason.
        const reason = line === '' ? undefined : await readLine(`${t(reasonPrompt)} `);
        return { kind: 'declined', reason };
      } finally {
        reader.close();
      }
    },
  };
}

const reasonPrompt = words('Nothing will be sent. Reason, for the agent and the journal (Enter for none):');

/** The lines of a plan above its question. */
export function planForQuestion(plan: Plan, terminal: Terminal, translate: Translator['translate']): string[] {
  return [
    ...planDetails(plan).flatMap((line) => paragraph(translate(line), terminal, line.text.startsWith('- ') ? 2 : 0)),
    '',
  ];
}

/** The lines of a question in bold, below its plan, so that a small screen still shows them. The lines between the first and the last are cautions. */
export function questionLines(question: SafeText, terminal: Terminal): string[] {
  const { stderr, env } = terminal;
  const lines = linesOf(question);
  return lines.flatMap((line, index) => {
    const isCaution = index > 0 && index < lines.length - 1;
    const isPainted = stderr.isTTY && !env.NO_COLOR;
    return paragraph(line, terminal).map((each) =>
      isPainted ? styleText(isCaution ? ['bold', 'red'] : 'bold', each, { validateStream: false }) : each,
    );
  });
}

function paragraph(text: SafeText, { stderr, timeZone }: Terminal, indent = 0): string[] {
  const formatTime = localTimeIn(timeZone);
  const shown = withTimes(text, (time) => formatTime(time) ?? words(''));
  return wrapped(shown, columnsOf(stderr), { start: 0, indent });
}
