import * as z from 'zod';
import { startServer } from '../support/http-server.js';

/** What a scripted model answers with next. It may look at the results of its calls. */
export type Step = (results: readonly string[]) => Readonly<Record<string, unknown>>;

/** Says a text, in which `{request ID}` stands for the last one that a result had. */
export const say =
  (text: string): Step =>
  (results) => ({
    role: 'assistant',
    content: text.replaceAll('{request ID}', lastOf(results, /sandbox-\d{6}/g)),
  });

/** Makes calls in one message. An argument `changeId` or `replaces` of `true` stands for the changeId of the last plan. */
export const call =
  (...calls: readonly (readonly [tool: string, args: Readonly<Record<string, unknown>>])[]): Step =>
  (results) => ({
    role: 'assistant',
    content: null,
    tool_calls: calls.map(([name, { changeId, replaces, ...args }], index) => {
      const last = lastOf(results, /(?<=^changeId: ).+$/gm);
      const plan = { ...(changeId === true && { changeId: last }), ...(replaces === true && { replaces: last }) };
      const id = `call_${results.length + index}`;
      return { id, type: 'function', function: { name, arguments: JSON.stringify({ ...args, ...plan }) } };
    }),
  });

const lastOf = (results: readonly string[], pattern: RegExp) => results.join('\n').match(pattern)?.at(-1) ?? 'none';

const request = z.object({
  messages: z.array(z.object({ role: z.string(), content: z.string().nullish() })),
  tools: z.array(z.object({ type: z.literal('function'), function: z.object({ name: z.string() }) })),
});

/**
 * A stand-in for a model: an HTTP server that speaks chat completions, with a script for each conversation, in the order in which they
 * begin. After its last step, a script repeats it.
 */
export async function startScriptedModel(scripts: readonly (readonly Step[])[]) {
  const left = [...scripts];
  let script: readonly Step[] = [];
  const server = await startServer(({ body }, response) => {
    const { messages } = request.parse(JSON.parse(body));
    const said = messages.filter(({ role }) => role === 'assistant').length;
    if (said === 0) script = left.shift() ?? [];
    const results = messages.flatMap(({ role, content }) => (role === 'tool' ? (content ?? '') : []));
    const message = script[Math.min(said, script.length - 1)]?.(results);
    response.setHeader('content-type', 'application/json');
    const usage = { prompt_tokens: 90, completion_tokens: 10, total_tokens: 100 };
    response.end(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], usage }));
  });
  return { ...server, baseUrl: `${server.origin}/v1` };
}
