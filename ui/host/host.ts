import { createPeer } from '../../src/mcp/views/contract/json-rpc.js';
import { type Fields, fieldsOf, readText } from '../../src/mcp/views/contract/read-fields.js';

/**
 * The view's side of MCP Apps (protocol 2026-01-26), limited to the messages that our views use. ui/README.md says why this is not the
 * SDK's `App`; test/browser checks it against the SDK's `AppBridge`.
 */
export interface Host {
  /** Calls a tool of the view's server. @throws RequestFailed */
  callTool(name: string, args: Fields, timeoutMs: number): Promise<ToolResult>;
  /** Replaces the text that the model gets with the user's next message. Never throws. */
  updateModelContext(text: string): void;
  /** Reports the size of the view in CSS pixels. */
  reportSize(width: number, height: number): void;
  /** True if the host forwards tool calls. */
  readonly callsTools: boolean;
  readonly context: HostContext;
}

export interface HostEvents {
  /** Receives the arguments of the view's call. */
  onInput?(args: Fields): void;
  onResult(result: ToolResult): void;
  /** The view's call was cancelled and has no result. */
  onCancelled(): void;
  /** Receives the fields that changed. */
  onContext(context: HostContext): void;
  /** The host is about to remove the view. */
  onTeardown(): void;
}

/** The answer of a tool. */
export interface ToolResult {
  readonly text: string;
  readonly structured: Fields;
  /** The `_meta` of the result, which models do not read. */
  readonly meta: Fields;
  readonly isError: boolean;
}

/** Theme, locale and size that the host gives a view. */
export interface HostContext {
  readonly theme: 'light' | 'dark' | undefined;
  /** Names and values of CSS variables. */
  readonly variables: Fields;
  /** `@font-face` rules. */
  readonly fonts: string | undefined;
  readonly locale: string | undefined;
  readonly timeZone: string | undefined;
}

const protocolVersion = '2026-01-26';

/** Time limit for requests that the host answers without the server (milliseconds). */
const ownAnswerMs = 30_000;

/**
 * Connects to the page that holds the view.
 * @throws RequestFailed if the page does not support MCP Apps
 */
export async function connectHost(
  window: Window,
  appInfo: { name: string; version: string },
  events: HostEvents,
): Promise<Host> {
  // Reads `parent` once, because VS Code replaces it by its own page and compares by identity.
  const { parent } = window;
  const peer = createPeer((message) => parent.postMessage(message, '*'), {
    onRequest(method) {
      if (method === 'ui/resource-teardown') events.onTeardown();
      else if (method !== 'ping') return undefined;
      return Promise.resolve({});
    },
    onNotification(method, params) {
      if (method === 'ui/notifications/tool-input') events.onInput?.(fieldsOf(params.arguments));
      else if (method === 'ui/notifications/tool-result') events.onResult(readResult(params));
      else if (method === 'ui/notifications/tool-cancelled') events.onCancelled();
      else if (method === 'ui/notifications/host-context-changed') events.onContext(readContext(params));
    },
  });
  window.addEventListener('message', (event) => {
    if (event.source === parent) peer.receive(event.data);
  });
  const params = { appInfo, appCapabilities: {}, protocolVersion };
  const { hostCapabilities, hostContext } = await peer.request('ui/initialize', params, ownAnswerMs);
  peer.notify('ui/notifications/initialized', {});
  const can = fieldsOf(hostCapabilities);
  return {
    callsTools: can.serverTools !== undefined,
    context: readContext(fieldsOf(hostContext)),
    callTool: async (name, args, timeoutMs) =>
      readResult(await peer.request('tools/call', { name, arguments: args }, timeoutMs)),
    updateModelContext(text) {
      if (can.updateModelContext === undefined) return;
      const content = [{ type: 'text', text }];
      // Ignores a refusal, because the view shows the same text.
      peer.request('ui/update-model-context', { content }, ownAnswerMs).catch(() => undefined);
    },
    reportSize: (width, height) => peer.notify('ui/notifications/size-changed', { width, height }),
  };
}

/** Parses a CallToolResult. */
function readResult({ content, structuredContent, _meta, isError }: Fields): ToolResult {
  const blocks = Array.isArray(content) ? content.map(fieldsOf) : [];
  return {
    text: blocks.flatMap(({ type, text }) => (type === 'text' && typeof text === 'string' ? [text] : [])).join('\n'),
    structured: fieldsOf(structuredContent),
    meta: fieldsOf(_meta),
    isError: isError === true,
  };
}

function readContext({ theme, styles, locale, timeZone }: Fields): HostContext {
  const { variables, css } = fieldsOf(styles);
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : undefined,
    variables: fieldsOf(variables),
    fonts: readText(fieldsOf(css).fonts),
    locale: readText(locale),
    timeZone: readText(timeZone),
  };
}
