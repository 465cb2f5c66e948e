import { createPeer } from '../shared/json-rpc.js';
import { type Fields, fieldsOf, readText } from '../shared/read-fields.js';

/** The host of a view: the messages of MCP Apps that our views use. ui/README.md says why this is not the SDK's `App`. */
export interface Host {
  /** Calls a tool of cloudops-mcp through the host. @throws RequestFailed */
  callTool(name: string, args: Fields, timeoutMs: number): Promise<ToolResult>;
  /** Sends the text that the model gets with the user's next message, in place of an earlier text. Never throws. */
  updateModelContext(text: string): void;
  /** Reports the size of the view in CSS pixels. */
  reportSize(width: number, height: number): void;
  /** True if the host forwards the view's tool calls to cloudops-mcp. */
  readonly callsTools: boolean;
  /** True on the page for decisions. */
  readonly isOwnPage: boolean;
  readonly context: HostContext;
}

export interface HostEvents {
  /** Receives the arguments of the tool call for which the host shows the view. */
  onInput?(args: Fields): void;
  onResult(result: ToolResult): void;
  /** The tool call for which the host shows the view was cancelled, so that no result follows. */
  onCancelled(): void;
  /** Receives changes of theme, locale and so on. Fields that did not change are undefined. */
  onContext(context: HostContext): void;
  /** The host is about to remove the view. */
  onTeardown(): void;
}

export interface ToolResult {
  readonly text: string;
  readonly structured: Fields;
  /** The `_meta` of the result, which models do not read. */
  readonly meta: Fields;
  readonly isError: boolean;
}

/** The appearance and the locale that a host gives its views. */
export interface HostContext {
  readonly theme: 'light' | 'dark' | undefined;
  /** Names and values of CSS variables. */
  readonly variables: Fields;
  /** `@font-face` rules. */
  readonly fonts: string | undefined;
  readonly locale: string | undefined;
  readonly timeZone: string | undefined;
}

/** The name that the page for decisions has as a host. */
export const ownPageName = 'cloudops-mcp';

const protocolVersion = '2026-01-26';

/** Time limit for requests that the host answers itself, without cloudops-mcp (milliseconds). */
const hostAnswerMs = 30_000;

/** Connects a view to the page around it, which is the host. @throws RequestFailed if the host does not support MCP Apps */
export async function connectHost(
  window: Window,
  appInfo: { name: string; version: string },
  events: HostEvents,
): Promise<Host> {
  // `parent` is read once because VS Code replaces the property by an object of its own, and `event.source` below is compared by identity.
  const { parent } = window;
  // The target `*` is needed because a view does not know the origin of its host.
  const peer = createPeer((message) => parent.postMessage(message, '*'), {
    onRequest(method) {
      if (method === 'ui/resource-teardown') events.onTeardown();
      const isKnown = method === 'ui/resource-teardown' || method === 'ping';
      // The peer answers an unknown method with an error.
      return isKnown ? Promise.resolve({}) : undefined;
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
  const { hostInfo, hostCapabilities, hostContext } = await peer.request('ui/initialize', params, hostAnswerMs);
  peer.notify('ui/notifications/initialized', {});

  const capabilities = fieldsOf(hostCapabilities);
  return {
    callsTools: capabilities.serverTools !== undefined,
    isOwnPage: fieldsOf(hostInfo).name === ownPageName,
    context: readContext(fieldsOf(hostContext)),
    callTool: async (name, args, timeoutMs) =>
      readResult(await peer.request('tools/call', { name, arguments: args }, timeoutMs)),
    updateModelContext(text) {
      if (capabilities.updateModelContext === undefined) return;
      const content = [{ type: 'text', text }];
      // A refusal is ignored, because the person can read the same text in the view.
      peer.request('ui/update-model-context', { content }, hostAnswerMs).catch(() => undefined);
    },
    reportSize: (width, height) => peer.notify('ui/notifications/size-changed', { width, height }),
  };
}

/** Parses a CallToolResult of MCP. */
function readResult({ content, structuredContent, _meta, isError }: Fields): ToolResult {
  const blocks = Array.isArray(content) ? content.map(fieldsOf) : [];
  const texts = blocks.filter(({ type }) => type === 'text').map(({ text }) => text);
  return {
    text: texts.filter((text) => typeof text === 'string').join('\n'),
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
