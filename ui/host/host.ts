import { createPeer } from '../../src/mcp/views/contract/json-rpc.js';
import { type Fields, fieldsOf, readText } from '../../src/mcp/views/contract/read-fields.js';

/**
 * A view's side of MCP Apps (protocol 2026-01-26), as much of it as our views need. README.md beside this folder says why it is
 * not the SDK's `App`; test/browser holds it against the SDK's `AppBridge`.
 */
export interface Host {
  /** Calls a tool of the server that the view comes from. @throws RequestFailed */
  callTool(name: string, args: Fields, timeoutMs: number): Promise<ToolResult>;
  /** Gives the model a text to know with the user's next message, in place of the one before. Never throws. */
  updateModelContext(text: string): void;
  /** Tells the host how large the view is, in CSS pixels. */
  reportSize(width: number, height: number): void;
  /** True if the host passes tool calls on. */
  readonly callsTools: boolean;
  readonly context: HostContext;
}

export interface HostEvents {
  /** The arguments of the call that the view belongs to. */
  onInput?(args: Fields): void;
  onResult(result: ToolResult): void;
  /** The call was cancelled and has no result. */
  onCancelled(): void;
  /** Fields that have changed. */
  onContext(context: HostContext): void;
  /** The host is about to take the view away. */
  onTeardown(): void;
}

/** The answer of a tool. */
export interface ToolResult {
  readonly text: string;
  readonly structured: Fields;
  /** The part that no model reads. */
  readonly meta: Fields;
  readonly isError: boolean;
}

/** The surroundings of a view. */
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

/** For what the host answers by itself. */
const ownAnswerMs = 30_000;

/**
 * Connects to the page that holds the view.
 * @throws RequestFailed if it does not take part in MCP Apps
 */
export async function connectHost(
  window: Window,
  appInfo: { name: string; version: string },
  events: HostEvents,
): Promise<Host> {
  // Both are asked for once: VS Code puts a page of its own in the place of `parent`, and compares by identity.
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
      // Nothing here can be done about a host that refuses it, and the view shows the same.
      peer.request('ui/update-model-context', { content }, ownAnswerMs).catch(() => undefined);
    },
    reportSize: (width, height) => peer.notify('ui/notifications/size-changed', { width, height }),
  };
}

/** Reads what the specification calls a CallToolResult. */
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
