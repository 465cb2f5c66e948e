import * as z from 'zod';

/** A tool as a client offers it to its model. */
export interface OfferedTool {
  readonly name: string;
  readonly description?: string | undefined;
  /** Of Codex, which groups tools. */
  readonly namespace?: string | undefined;
}

/** What the APIs of models have in common, as far as a script needs it. */
export interface Dialect {
  /** Tools on offer, and the results in the conversation so far. */
  read(body: unknown): { readonly tools: readonly OfferedTool[]; readonly results: readonly string[] };
  /** The events that call a tool, or that end the conversation. */
  write(id: string, call: ToolCall | undefined): readonly object[];
}

export interface ToolCall {
  readonly tool: OfferedTool;
  readonly args: Readonly<Record<string, unknown>>;
}

const tool = z.object({ name: z.string(), description: z.string().optional() });

/** Of Anthropic: Claude Code, opencode. */
const messages: Dialect = {
  read(body) {
    const block = z.looseObject({ type: z.string(), content: z.unknown().optional() });
    const conversation = z.object({
      tools: z.array(tool).catch([]),
      messages: z.array(z.object({ content: z.union([z.string(), z.array(block)]) })),
    });
    const { tools, messages } = conversation.parse(body);
    const blocks = messages.flatMap(({ content }) => (typeof content === 'string' ? [] : content));
    return {
      tools,
      results: blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => textOf(content)),
    };
  },
  write(id, call) {
    const block =
      call === undefined ? { type: 'text', text: '' } : { type: 'tool_use', id, name: call.tool.name, input: {} };
    const delta =
      call === undefined
        ? { type: 'text_delta', text: 'Done.' }
        : { type: 'input_json_delta', partial_json: JSON.stringify(call.args) };
    const stop_reason = call === undefined ? 'end_turn' : 'tool_use';
    const usage = { input_tokens: 1, output_tokens: 1 };
    const message = {
      id,
      type: 'message',
      role: 'assistant',
      model: 'scripted',
      content: [],
      stop_reason: null,
      usage,
    };
    return [
      { type: 'message_start', message },
      { type: 'content_block_start', index: 0, content_block: block },
      { type: 'content_block_delta', index: 0, delta },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason }, usage },
      { type: 'message_stop' },
    ];
  },
};

/** Of OpenAI: Codex. */
const responses: Dialect = {
  read(body) {
    const group = z.union([
      z.object({ type: z.literal('namespace'), name: z.string(), tools: z.array(tool) }),
      tool,
      z.unknown().transform(() => undefined),
    ]);
    const conversation = z.object({
      tools: z.array(group).catch([]),
      input: z.array(z.looseObject({ type: z.string().optional(), output: z.unknown().optional() })),
    });
    const { tools, input } = conversation.parse(body);
    return {
      tools: tools.flatMap((one) => {
        if (one === undefined) return [];
        return 'tools' in one ? one.tools.map((inner) => ({ ...inner, namespace: one.name })) : [one];
      }),
      results: input.filter(({ type }) => type === 'function_call_output').map(({ output }) => textOf(output)),
    };
  },
  write(id, call) {
    const item =
      call === undefined
        ? { type: 'message', role: 'assistant', id, content: [{ type: 'output_text', text: 'Done.' }] }
        : {
            type: 'function_call',
            call_id: id,
            name: call.tool.name,
            arguments: JSON.stringify(call.args),
            ...(call.tool.namespace !== undefined && { namespace: call.tool.namespace }),
          };
    const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 };
    return [
      { type: 'response.created', response: { id } },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { id, output: [item], usage } },
    ];
  },
};

/** Of OpenAI, the older one that others took over: Qwen Code. */
const chatCompletions: Dialect = {
  read(body) {
    const message = z.looseObject({ role: z.string(), content: z.unknown().optional() });
    const conversation = z.object({
      tools: z.array(z.object({ function: tool })).catch([]),
      messages: z.array(message),
    });
    const { tools, messages } = conversation.parse(body);
    return {
      tools: tools.map((one) => one.function),
      results: messages.filter(({ role }) => role === 'tool').map(({ content }) => textOf(content)),
    };
  },
  write(id, call) {
    const chunk = (delta: object, finish_reason: string | null) => ({
      ...{ id, object: 'chat.completion.chunk', created: 0, model: 'scripted' },
      choices: [{ index: 0, delta, finish_reason }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    });
    if (call === undefined) return [chunk({ role: 'assistant', content: 'Done.' }, null), chunk({}, 'stop')];
    const called = { name: call.tool.name, arguments: JSON.stringify(call.args) };
    const tool_calls = [{ index: 0, id, type: 'function', function: called }];
    return [chunk({ role: 'assistant', tool_calls }, null), chunk({}, 'tool_calls')];
  },
};

/** Of Google: Gemini CLI. */
const generateContent: Dialect = {
  read(body) {
    const part = z.looseObject({ functionResponse: z.looseObject({ response: z.unknown() }).optional() });
    const conversation = z.object({
      tools: z.array(z.object({ functionDeclarations: z.array(tool).catch([]) })).catch([]),
      contents: z.array(z.object({ parts: z.array(part) })),
    });
    const { tools, contents } = conversation.parse(body);
    return {
      tools: tools.flatMap(({ functionDeclarations }) => functionDeclarations),
      results: contents.flatMap(({ parts }) =>
        parts.flatMap(({ functionResponse }) =>
          functionResponse === undefined ? [] : [textOf(functionResponse.response)],
        ),
      ),
    };
  },
  write(id, call) {
    const part =
      call === undefined ? { text: 'Done.' } : { functionCall: { id, name: call.tool.name, args: call.args } };
    const candidate = { index: 0, content: { role: 'model', parts: [part] }, finishReason: 'STOP' };
    return [{ candidates: [candidate], usageMetadata: { promptTokenCount: 1, totalTokenCount: 2 } }];
  },
};

/** The dialect that is spoken at a path, if any. */
export const dialectAt = (path: string): Dialect | undefined =>
  path.endsWith(':streamGenerateContent')
    ? generateContent
    : { '/v1/messages': messages, '/v1/responses': responses, '/v1/chat/completions': chatCompletions }[path];

const blocks = z.array(z.object({ text: z.string() }));

/** What a model reads of a result: the text of its blocks, or all of it. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const { data } = blocks.safeParse(content);
  return data === undefined ? JSON.stringify(content) : data.map(({ text }) => text).join('\n');
}
