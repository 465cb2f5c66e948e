import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline/promises';
import { text } from 'node:stream/consumers';
import type { EndedOutcome, Failure, Success } from '../calls/outcome.js';
import { Refusal, refusalFailure } from '../calls/refusal.js';
import { attemptsText, resultText } from '../calls/result-text.js';
import type { Elicitor, FormResponse } from '../changes/elicitor.js';
import { isTyped, notTyped, typePrompt } from '../changes/typed-name.js';
import type { Config } from '../config/load-config.js';
import { callChangeTool, changeToolNames } from '../mcp/tools-of-changes.js';
import { startRuntime } from '../runtime.js';
import type { Operation } from '../tools/define-operation.js';
import { crashFacts, errorName, shownReason } from '../util/log.js';
import { isObject, textAt } from '../util/objects.js';
import { escapeJson } from '../util/quote.js';
import { own, type SafeText, say, words } from '../util/safe-text.js';
import { type Command, type Invocation, notOneOf, type Terminal, UsageError, validConfig } from './command.js';
import { printLine } from './layout.js';
import { planForQuestion, questionLines } from './plan-for-question.js';
import { commandLog } from './terminal-log.js';

/** `cloudops-mcp call` calls a tool without an MCP client. */
export const callCommand: Command = {
  usage: '<tool> [<json>|@<file>|-] [--account <name>] [--plan] [--yes] [--json]',
  about: 'call a tool',
  details:
    '--plan only shows the plan of a change, --yes agrees to it beforehand. --json prints the data of the result in place of its text. ' +
    'Exit code 0 done, 1 failed, 2 usage, 3 no consent, 4 outcome unknown, 5 output lost, 6 done in part.',
  positionals: 2,
  options: { account: 'value', plan: 'switch', yes: 'switch', json: 'switch' },
  run: async (invocation) => {
    const { options, terminal } = invocation;
    const [tool = ''] = invocation.positionals;
    try {
      const call = await readCall(invocation);
      const agreed = options.yes !== undefined;
      const outcome = await execute(call, agreed, terminal);
      if (outcome.kind === 'failed') return printFailure(tool, outcome.failure, invocation);
      return printSuccess(tool, outcome.success, { isPlanOnly: Object(call.args).planOnly === true }, invocation);
    } catch (error) {
      // With `--json`, a problem of the command line is printed as JSON, too.
      if (!(error instanceof UsageError) || options.json === undefined) throw error;
      const subject = tool === '' ? words('The call') : tool;
      const failure = refusalFailure(subject, new Refusal('Usage', error.problems), { isChange: false });
      return printFailure(tool, failure, invocation);
    }
  },
};

/** Prints the text of a failure to stderr or, with `--json`, its data to stdout. Returns the exit code. */
function printFailure(tool: string, failure: Failure, { options, terminal }: Invocation): number {
  const { stdout, stderr } = terminal;
  // This person has just read the plan and declined it. With an HTTP status, the code "Declined" would be one of the cloud's own.
  const isOwnDecline = failure.code === 'Declined' && failure.status === undefined;
  const text = isOwnDecline ? 'Nothing was sent: you did not agree to it.' : resultText(failure);
  if (options.json === undefined) stderr.write(`${text}\n`);
  else stdout.write(`${escapeJson(JSON.stringify({ ok: false, tool, failure }))}\n`);
  return failureCode(failure);
}

/**
 * Prints the text of a success or, with `--json`, its data. Returns the exit code.
 * @param isPlanOnly true if the call asked only for a plan
 */
function printSuccess(
  tool: string,
  success: Success,
  { isPlanOnly }: { readonly isPlanOnly: boolean },
  { options, terminal }: Invocation,
): number {
  const { stdout, stderr } = terminal;
  const { outcome } = success;
  // With `planned`, nobody was asked. With `waiting`, a person can still decide.
  const lacksConsent = (outcome === 'planned' || outcome === 'waiting') && !isPlanOnly;
  const doneCode = outcome === 'partly' ? 6 : 0;
  const code = lacksConsent ? noConsentCode : doneCode;
  if (options.json !== undefined) {
    // A change that waits for consent, or was done in part, is a success, but its exit code is not 0, and so `ok` is false.
    // Programs rely on the name `answer` for the whole success. The cloud's own answer is in the field `answer` of the success.
    stdout.write(`${escapeJson(JSON.stringify({ ok: code === 0, tool, answer: success }))}\n`);
    return code;
  }
  stdout.write(`${resultText(success)}\n`);
  // The change was wanted, so a note says why it was not sent. A plan with the outcome `waiting` needs no note: its text says where to decide.
  if (lacksConsent && outcome === 'planned')
    printLine(stderr, words('note: nobody was asked, and nothing was sent; --yes agrees beforehand.'));
  return code;
}

/** The exit code of a change without consent. */
const noConsentCode = 3;

function failureCode({ code, status, mayHaveHappened }: Pick<Failure, 'code' | 'status' | 'mayHaveHappened'>) {
  if (mayHaveHappened) return 4;
  // With an HTTP status, the code is the service's, which may have the same name as a code of this server.
  return status === undefined ? (exitCodes.get(code) ?? 1) : 1;
}

/** Exit codes of failures that are not 1, by this server's codes. */
const exitCodes: ReadonlyMap<string, number> = new Map([
  ...['Usage', 'InvalidArguments', 'NotAllowed', 'NotConfigured'].map((code) => [code, 2] as const),
  ...['Declined', 'NobodyAsked', 'WrongName', 'TooManyRefusals', 'TooLargeToShow', 'NeedsHuman', 'PlanRefused'].map(
    (code) => [code, noConsentCode] as const,
  ),
]);

interface Call {
  /** Undefined for a tool of changes, such as `get_change`. */
  readonly operation: Operation | undefined;
  readonly tool: string;
  readonly args: unknown;
  readonly config: Config;
}

/**
 * Reads the tool and arguments of a call from the command line, and adds `--account` and `--plan` to the arguments. Only the call itself
 * checks the arguments.
 * @throws UsageError
 */
async function readCall(invocation: Invocation): Promise<Call> {
  const { positionals, options, operations, terminal } = invocation;
  const [tool = '', argument = '{}'] = positionals;
  // Problems of the configuration come first, because they may be the reason why the tool is unknown.
  const config = validConfig(invocation);
  const operation = operations.find(({ name }) => name === tool);
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

  // JSON that is no object, such as `[1]`, gets no account, because the call refuses it anyway.
  const args = account !== undefined && isObject(json) ? { ...json, account } : json;
  if (options.plan === undefined) return { tool, operation, args, config };
  if (operation?.change === undefined) throw new UsageError(say`${own(tool)} only reads: there is nothing to plan.`);
  // `Object` accepts even JSON that is no object, so that every call with `--plan` has `planOnly` and cannot send a change.
  return { tool, operation, args: { ...Object(args), planOnly: true }, config };
}

/** Reads the arguments from the command line, a file or stdin. Errors do not quote them, because they may hold a secret. */
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

/** Time limit for closing connections after the call has ended (milliseconds). */
const graceMs = 1000;

/** Makes the call, shows its progress, and asks for consent at the terminal, unless the user agreed beforehand with `--yes` (`agreed`). */
async function execute(
  { tool: name, operation, args, config }: Call,
  agreed: boolean,
  terminal: Terminal,
): Promise<EndedOutcome> {
  const log = commandLog(config, terminal);
  const runtime = await startRuntime(config, terminal.version, log, terminal.now);
  const signal = terminal.abortOnSignal();

  // An error in a timer or a promise would end the process, even while a change is under way. So it is only logged and shown.
  const onUncaught = (error: unknown) => {
    log('error', 'crash', crashFacts(error));
    const kind = own(errorName(error));
    printLine(terminal.stderr, say`warning: an error that nothing caught (${kind}); the call goes on.`);
  };
  process.on('uncaughtException', onUncaught);

  const { stderr } = terminal;
  /** Shows the progress in one line of a terminal, which the next text replaces. */
  const showProgress = (text: SafeText) => void (stderr.isTTY && stderr.write(`${eraseLine}${text}`));
  const tool = own(name);
  try {
    const client = `cloudops-mcp call ${terminal.version}`;
    if (operation === undefined) return await callChangeTool(name, args, runtime.changes, { signal, client });
    const outcome = await runtime.call(operation, args, {
      signal,
      agreed,
      wantsWholeAnswer: true,
      elicitor: elicitorOn(terminal, signal),
      onPage: (pages, entries) => showProgress(say`${tool}: ${entries} entries, page ${pages}`),
      onRetry: (failedAttempts) => {
        // Never undefined, because at least one attempt has failed.
        const failures = attemptsText(failedAttempts) ?? words('');
        showProgress(say`${tool}: attempt ${failedAttempts.length + 1}; ${failures}`);
      },
      client,
    });
    // Never happens: this outcome is for clients that send the user's answer with a second request, and the terminal answers at once.
    if (outcome.kind === 'inputRequired') throw new Error('the terminal answers at once');
    return outcome;
  } finally {
    if (stderr.isTTY) stderr.write(eraseLine);
    await runtime.close(graceMs);
    process.off('uncaughtException', onUncaught);
  }
}

/** Moves the cursor to the beginning of the line and erases the line. */
const eraseLine = '\r\x1b[K';

/** Shows whole plans and asks for consent at the terminal. Undefined if stdin or stderr is no terminal, because nobody could answer. */
function elicitorOn(terminal: Terminal, signal: AbortSignal): Elicitor | undefined {
  const { stdin, stderr } = terminal;
  if (!stdin.isTTY || !stderr.isTTY) return undefined;
  return {
    // The person is at this terminal, so a quick answer is not suspected to be from a program, and long plans and many questions are allowed.
    isDirect: true,
    show: (plan) => void stderr.write(`${eraseLine}${planForQuestion(plan, terminal).join('\n')}\n`),
    // Neither the label nor `_cancel` is needed, because the answer is typed, and only Ctrl-C (`signal`) ends the question.
    ask: (question, _acceptLabel, _cancel, nameToType) => askForConsent(question, nameToType, terminal, signal),
  };
}

/**
 * Asks for consent to a change. Only the typed name or, without a name, "yes" agrees. Any other reply declines, except for a wrong name.
 * @param nameToType what the user must type to agree, for a deletion
 */
async function askForConsent(
  question: SafeText,
  nameToType: string | undefined,
  terminal: Terminal,
  signal: AbortSignal,
): Promise<FormResponse> {
  const { stdin, stderr } = terminal;
  // With `terminal: true`, readline would handle Ctrl-C itself, and the process would get no signal.
  const reader = createInterface({ input: stdin, terminal: false, signal });
  const iterator = reader[Symbol.asyncIterator]();
  /** Resolves with undefined after Ctrl-C, which aborts `signal`, or if stdin has ended or failed. */
  const readLine = async (prompt: string): Promise<string | undefined> => {
    stderr.write(prompt);
    // Stdin fails if its terminal goes away.
    const next = await iterator.next().catch(() => ({ done: true }) as const);
    if (!next.done) return next.value.trim();
    // Ends the line of the prompt, because the user did not press Enter.
    printLine(stderr, '');
    return undefined;
  };

  const consentWord = nameToType ?? 'yes';
  const shownQuestion = questionLines(question, terminal).join('\n');

  try {
    const line = await readLine(`${shownQuestion}\nTo decline, type no. ${typePrompt(consentWord)}\n> `);
    if (line === undefined) return { kind: 'cancelled' };
    if (isTyped(consentWord, line)) return { kind: 'agreed' };
    const isRefusal = ['', 'n', 'no'].includes(line.toLowerCase());
    if (nameToType !== undefined && !isRefusal) {
      printLine(stderr, notTyped);
      return { kind: 'wrongName' };
    }

    // An empty line declines without a question for the reason. Ctrl-C at that question leaves out the reason, but still declines.
    const reason = line === '' ? undefined : await readLine(reasonPrompt);
    return { kind: 'declined', reason };
  } finally {
    reader.close();
  }
}

const reasonPrompt = 'Nothing will be sent. Reason, for the agent and the journal (Enter for none): ';
