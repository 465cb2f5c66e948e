import { classifyInboundRequest } from '@modelcontextprotocol/server';
import { textAt } from '../util/objects.js';

/** Where known MCP clients differ from the protocol, or show less than it allows. */

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
