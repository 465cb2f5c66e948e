import { classifyInboundRequest } from '@modelcontextprotocol/server';
import type { ArgumentName } from '../calls/validate.js';
import type { JsonSchema } from '../tools/define-operation.js';
import { isObject, textAt } from '../util/objects.js';
import type { Client } from './client.js';

/** The ways in which known MCP clients differ from the protocol, or show less than it allows. */

/** Arguments that clients add to every call, although no schema has them. */
const addedArguments: readonly string[] = [
  // Gemini CLI 0.61 and Qwen Code add it to the schema of every tool that they show their models.
  'wait_for_previous',
  // n8n before 2.2.5: https://github.com/n8n-io/n8n/issues/21716
  'toolCallId',
];

/** Drops the arguments that clients add to every call. */
export const withoutAddedArguments = (args: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !addedArguments.includes(name)));

/**
 * Returns a function that turns the server's name of an argument into the client's name and back, if the names differ. Claude Code
 * 2.1.330 shows the argument `description` as the title of a call, so an agent would word what a person approves. It gets another name
 * for that argument.
 */
export function argumentNamesFor({ name: client }: Client, { properties }: JsonSchema): ArgumentName | undefined {
  if (!/^claude-code( |$)/.test(client) || !isObject(properties) || !Object.hasOwn(properties, titleArgument))
    return undefined;
  let safeName = 'descriptionText';
  while (Object.hasOwn(properties, safeName)) safeName += '_';
  return (name) => {
    if (name === titleArgument) return safeName;
    return name === safeName ? titleArgument : name;
  };
}

/** The argument that Claude Code shows as the title of a call. */
const titleArgument = 'description';

/** Renames the arguments of a call. */
export function swapArguments(
  args: Readonly<Record<string, unknown>>,
  swapName: ArgumentName | undefined,
): Readonly<Record<string, unknown>> {
  if (swapName === undefined) return args;
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [swapName(name), value]));
}

/** The schema of a tool's arguments with the names that the client gets. */
export function schemaFor(client: Client, schema: JsonSchema): JsonSchema {
  const swapName = argumentNamesFor(client, schema);
  const { properties, required } = schema;
  if (swapName === undefined || !isObject(properties)) return schema;
  return {
    ...schema,
    properties: swapArguments(properties, swapName),
    ...(Array.isArray(required) && { required: required.map(String).map(swapName) }),
  };
}

/** True if the user can submit a form with an empty field. Codex 0.169.0 submits none, and does not say why. */
export const canLeaveFieldsEmpty = ({ name: client }: Pick<Client, 'name'>): boolean => !/^codex\b/.test(client);

/** JSON Schema keywords for which some client refuses a tool, or the whole list of tools. */
export const refusedKeywords: readonly string[] = [
  '$ref',
  '$defs',
  'anyOf',
  'oneOf',
  'allOf',
  'not',
  'const',
  'if',
  'propertyNames',
  '$schema',
];

/**
 * Limits for a question. `lines` and `characters` are for Codex, which shows 24 lines for the form and everything around it. `lineLength`
 * is for Claude Code, which shows three lines, cut to the width of the terminal, and cannot unfold the rest.
 */
export const questionLimits = { lines: 9, characters: 2_000, lineLength: 70 };

/**
 * How users of a client decide on a change: in a form that the server asks for, or with the button of a view. With `not`, models carry
 * out plans after a yes in the conversation.
 */
export type DecisionWay = 'by form' | 'by view' | 'not';

/** The clients of `cloudops-mcp client-config`. */
export const decisionWays = {
  'claude-desktop': 'by view',
  'claude-ai': 'by view',
  chatgpt: 'by view',
  'claude-code': 'by form',
  vscode: 'by form',
  cursor: 'by form',
  windsurf: 'not',
  zed: 'not',
  goose: 'by view',
  codex: 'by form',
  gemini: 'not',
  // Declares views, but shows none in a terminal.
  qwen: 'not',
  opencode: 'not',
} satisfies Readonly<Record<string, DecisionWay>>;

const versionHeader = 'mcp-protocol-version';

/**
 * Corrects the headers of a complete 2026-07-28 request whose header names 2025-11-25. Connectors of claude.ai were reported to send
 * such requests (https://github.com/anthropics/claude-code/issues/93290). Missing headers of 2026-07-28 are taken from the body. Every
 * other contradiction between headers and body is left for the SDK to refuse.
 */
export function correctHeaders(headers: Headers, message: unknown): void {
  if (headers.get(versionHeader) !== '2025-11-25') return;
  const request = classifyInboundRequest({ httpMethod: 'POST', body: message });
  if (request.kind !== 'modern' || request.messageKind !== 'request') return;
  headers.set(versionHeader, '2026-07-28');
  const { method, params } = request.message;
  if (!headers.has('mcp-method') && /^[a-z/]+$/i.test(method)) headers.set('mcp-method', method);
  const name = textAt(params, 'name') ?? textAt(params, 'uri');
  if (!headers.has('mcp-name') && name !== undefined)
    headers.set('mcp-name', `=?base64?${Buffer.from(name).toString('base64')}?=`);
}
