import { classifyInboundRequest } from '@modelcontextprotocol/server';
import { textAt } from '../util/objects.js';

const label = 'mcp-protocol-version';
const named = '2025-11-25';
const meant = '2026-07-28';

/**
 * Corrects the headers of a whole request of 2026-07-28 that names 2025-11-25 in its header, as connectors of claude.ai were reported
 * to (https://github.com/anthropics/claude-code/issues/93290). Headers that came in 2026 are taken from the body where they are
 * missing. All else in which headers and body disagree stays as it is, for the SDK to refuse.
 */
export function correctHeaders(headers: Headers, message: unknown): void {
  if (headers.get(label) !== named) return;
  const found = classifyInboundRequest({ httpMethod: 'POST', body: message });
  if (found.kind !== 'modern' || found.messageKind !== 'request') return;
  headers.set(label, meant);
  const { method, params } = found.message;
  if (!headers.has('mcp-method') && /^[a-z/]+$/i.test(method)) headers.set('mcp-method', method);
  const name = textAt(params, 'name') ?? textAt(params, 'uri');
  if (!headers.has('mcp-name') && name !== undefined)
    headers.set('mcp-name', `=?base64?${Buffer.from(name).toString('base64')}?=`);
}
