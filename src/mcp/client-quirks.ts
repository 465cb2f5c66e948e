import { classifyInboundRequest } from '@modelcontextprotocol/server';
import type { ArgumentName } from '../calls/validate.js';
import type { JsonSchema } from '../tools/define-operation.js';
import { isObject, textAt } from '../util/objects.js';
import type { Client } from './client.js';

/** This file lists the known MCP clients that differ from the protocol, or show less than it allows. */

const addedArguments: readonly string[] = [
  // Gemini CLI 0.61 and Qwen Code add it.
  'wait_for_previous',
  // n8n before 2.2.5 adds it: https://github.com/n8n-io/n8n/issues/21716
  'toolCallId',
];

/** Drops the arguments that clients add to calls, save those that the tool has. */
export function withoutAddedArguments(
  args: Readonly<Record<string, unknown>>,
  { name: client }: Pick<Client, 'name'>,
  { properties }: JsonSchema = {},
): Readonly<Record<string, unknown>> {
  // From the workflow of n8n: https://github.com/n8n-io/n8n/issues/22787
  const ofWorkflow = /\bn8n\b/.test(client) ? ['sessionId', 'action', 'chatInput', 'tool'] : [];
  const added = [...addedArguments, ...ofWorkflow];
  const isOwn = (name: string) => isObject(properties) && Object.hasOwn(properties, name);
  return Object.fromEntries(Object.entries(args).filter(([name]) => !added.includes(name) || isOwn(name)));
}

/**
 * Returns a function that translates argument names for the client, and back. Claude Code shows `description` as the title of a call, where
 * an agent could mislead a person.
 */
export function argumentNameSwapFor({ name: client }: Client, { properties }: JsonSchema): ArgumentName | undefined {
  if (!/^claude-code( |$)/.test(client)) return undefined;
  if (!isObject(properties) || !Object.hasOwn(properties, titleArgument)) return undefined;

  let safeName = 'descriptionText';
  while (Object.hasOwn(properties, safeName)) safeName += '_';

  return (name) => {
    if (name === titleArgument) return safeName;
    return name === safeName ? titleArgument : name;
  };
}

const titleArgument = 'description';

export function swapArguments(
  args: Readonly<Record<string, unknown>>,
  swapName: ArgumentName | undefined,
): Readonly<Record<string, unknown>> {
  if (swapName === undefined) return args;
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [swapName(name), value]));
}

export function schemaFor(client: Client, schema: JsonSchema): JsonSchema {
  const swapName = argumentNameSwapFor(client, schema);
  const { properties, required } = schema;
  if (swapName === undefined || !isObject(properties)) return schema;
  return {
    ...schema,
    properties: swapArguments(properties, swapName),
    ...(Array.isArray(required) && { required: required.map(String).map(swapName) }),
  };
}

/** Codex 0.169.0 does not submit a form with an empty field. */
export const canLeaveFieldsEmpty = ({ name: client }: Pick<Client, 'name'>): boolean => !/^codex\b/.test(client);

/** Limits for a question. Codex shows 24 lines, and Claude Code three. */
export const questionLimits = { lines: 9, characters: 2_000, lineLength: 70 };

/** What the model reads when a call becomes a task. Claude Code 2.1.332 shows it nothing else of the task, and the user has to open a list. */
export const noteForModel = (text: string) => ({ 'com.anthropic/agent-task': { modelImmediateResponse: text } });

const versionHeader = 'mcp-protocol-version';

/** Corrects the version header of requests from connectors of claude.ai (https://github.com/anthropics/claude-code/issues/93290). */
export function correctHeaders(headers: Headers, message: unknown): void {
  if (headers.get(versionHeader) !== '2025-11-25') return;
  const request = classifyInboundRequest({ httpMethod: 'POST', body: message });
  if (request.kind !== 'modern' || request.messageKind !== 'request') return;

  headers.set(versionHeader, '2026-07-28');
  const { method, params } = request.message;
  if (!headers.has('mcp-method') && /^[a-z/]+$/i.test(method)) headers.set('mcp-method', method);
  const name = textAt(params, 'name') ?? textAt(params, 'uri') ?? textAt(params, 'taskId');
  if (!headers.has('mcp-name') && name !== undefined)
    headers.set('mcp-name', `=?base64?${Buffer.from(name).toString('base64')}?=`);
}
