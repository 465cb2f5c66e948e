import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { reasonOf } from '../src/util/log.js';
import { EvaluationProblem } from './problem.js';
import type { Tokens } from './record.js';

/** A model behind an address with OpenAI's chat completions API. */
export interface ModelOptions {
  readonly baseUrl: string;
  readonly model: string;
  /** API key. Undefined if the address needs none. */
  readonly key: string | undefined;
  /** Extra fields for each request, such as a temperature. */
  readonly more: Readonly<Record<string, unknown>>;
  /** Time limit for one answer (milliseconds). */
  readonly answerMs: number;
}

/** A tool in the format of chat completions. */
export interface ModelTool {
  readonly type: 'function';
  readonly function: { readonly name: string; readonly description: string; readonly parameters: object };
}

/** A message to the model. The model's own messages are returned unchanged, because some models keep their reasoning there. */
export type Message = Readonly<Record<string, unknown>> & { readonly role: string };

export interface ModelCall {
  readonly id: string;
  readonly tool: string;
  /** The arguments. Undefined if they are not a JSON object. */
  readonly args: Readonly<Record<string, unknown>> | undefined;
}

export interface ModelReply {
  readonly message: Message;
  readonly text: string;
  readonly calls: readonly ModelCall[];
  readonly tokens: Tokens;
}

/** Asks a model for its next message. Throws an `EvaluationProblem` if it cannot be asked. */
export type AskModel = (
  messages: readonly Message[],
  tools: readonly ModelTool[],
  signal: AbortSignal,
) => Promise<ModelReply>;

const largestAnswer = 1024 * 1024;
const attempts = 4;
const longestPauseMs = 30_000;

/** @param pause waits some milliseconds before a request is repeated */
export function createModel(
  options: ModelOptions,
  pause: (ms: number, signal: AbortSignal) => Promise<unknown> = (ms, signal) => delay(ms, undefined, { signal }),
): AskModel {
  const url = `${options.baseUrl.replace(/\/+$/, '')}/chat/completions`;
  const { model, more } = options;
  return async (messages, tools, signal) => {
    const body = JSON.stringify({ ...more, model, messages, tools });
    for (let attempt = 1; ; attempt += 1) {
      const answer = await post(url, body, options, signal);
      if (answer.status === 200) return replyOf(answer.text, body, url, options.key);
      const isPassing = answer.status === 429 || answer.status >= 500;
      if (!isPassing || attempt === attempts) throw refused(url, answer, options, attempt);
      await pause(Math.min(answer.retryAfterMs ?? 1000 * 2 ** attempt, longestPauseMs), signal);
    }
  };
}

interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly retryAfterMs: number | undefined;
}

async function post(url: string, body: string, options: ModelOptions, signal: AbortSignal): Promise<HttpAnswer> {
  const { key, answerMs } = options;
  const tooLate = AbortSignal.timeout(answerMs);
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(key !== undefined && { authorization: `Bearer ${key}` }) },
      body,
      // Follows no redirect, because the key is for this address only.
      redirect: 'manual',
      signal: AbortSignal.any([signal, tooLate]),
    });
    const seconds = Number(response.headers.get('retry-after') ?? Number.NaN);
    return {
      status: response.status,
      text: await boundedText(response, url),
      retryAfterMs: seconds >= 0 ? seconds * 1000 : undefined,
    };
  } catch (error) {
    if (error instanceof EvaluationProblem || signal.aborted) throw error;
    if (tooLate.aborted) throw new EvaluationProblem(`${url} gave no answer within ${answerMs / 1000} s.`);
    throw new EvaluationProblem(
      `${url} cannot be reached (${reasonOf(error instanceof Error ? (error.cause ?? error) : error)}).`,
    );
  }
}

async function boundedText({ body }: Response, url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body ?? []) {
    size += chunk.length;
    if (size > largestAnswer) throw new EvaluationProblem(`${url} answered with more than 1 MiB.`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function refused(url: string, { status, text }: HttpAnswer, { key, model }: ModelOptions, attempt: number) {
  const said = `${status}${text.trim() === '' ? '' : `: ${excerpt(text, key)}`}`;
  if (status === 401 || status === 403)
    return new EvaluationProblem(
      key === undefined
        ? `${url} wants a key (${said}). Set EVAL_API_KEY, or name its file with --key-file.`
        : `${url} refuses the key (${said}).`,
    );
  if (status === 404)
    return new EvaluationProblem(
      `There is nothing at ${url}, or no model ${JSON.stringify(model)} (${said}). The base URL is what comes before /chat/completions and mostly ends in /v1.`,
    );
  if (status >= 300 && status < 400)
    return new EvaluationProblem(`${url} redirects (${said}). Give the address that it leads to.`);
  const often = attempt === 1 ? '' : `, ${attempt} times in a row`;
  return new EvaluationProblem(`${url} refuses the request (${said})${often}.`);
}

/** Quotes a service's text and removes the key, because some services repeat the key. */
function excerpt(text: string, key: string | undefined): string {
  const safe = key === undefined ? text : text.replaceAll(key, '(the key)');
  return JSON.stringify(safe.length > 300 ? `${safe.slice(0, 300)}…` : safe);
}

const completion = z.object({
  choices: z
    .array(
      z.object({
        message: z.looseObject({
          role: z.string().default('assistant'),
          content: z.union([z.string(), z.array(z.looseObject({ text: z.string().optional() }))]).nullish(),
          tool_calls: z
            .array(
              z.looseObject({
                id: z.string(),
                function: z.looseObject({ name: z.string(), arguments: z.string() }),
              }),
            )
            .nullish(),
        }),
      }),
    )
    .min(1),
  usage: z.object({ prompt_tokens: z.number(), completion_tokens: z.number() }).nullish().catch(undefined),
});

function replyOf(text: string, request: string, url: string, key: string | undefined): ModelReply {
  const parsed = completion.safeParse(jsonOf(text));
  const message = parsed.data?.choices[0]?.message;
  if (message === undefined)
    throw new EvaluationProblem(`${url} answered with something that is no chat completion: ${excerpt(text, key)}.`);
  const { content, tool_calls: calls } = message;
  const usage = parsed.data?.usage;
  return {
    message,
    text: typeof content === 'string' ? content : (content ?? []).map((part) => part.text ?? '').join(''),
    calls: (calls ?? []).map(({ id, function: called }) => ({
      id,
      tool: called.name,
      args: argumentsOf(called.arguments),
    })),
    tokens: usage
      ? { count: usage.prompt_tokens + usage.completion_tokens, isEstimate: false }
      : { count: Math.ceil((request.length + text.length) / 4), isEstimate: true },
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses arguments. Some models send an empty text if there are none. */
const argumentsOf = (text: string) =>
  z.record(z.string(), z.unknown()).safeParse(text.trim() === '' ? {} : jsonOf(text)).data;
