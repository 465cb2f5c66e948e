import type { CallToolResult } from '@modelcontextprotocol/client';
import { AppBridge, type McpUiHostContext, PostMessageTransport } from '@modelcontextprotocol/ext-apps/app-bridge';
import { EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js';

/** What a test says about the host that it wants. */
export interface HostSetup {
  readonly html: string;
  readonly context?: McpUiHostContext;
  /** Whether the host passes tool calls on. */
  readonly callsTools?: boolean;
  /** Set if it says so, and refuses them. */
  readonly refusesCalls?: boolean;
  /** Width of the view in CSS pixels. */
  readonly width?: number;
}

/** What a test can do with a host that shows a view. */
export interface TestHost {
  /** Sends the view the call that it belongs to, `{ args, result }` in JSON, and waits until the view has read it. */
  sendCall(call: string): Promise<void>;
  changeContext(context: McpUiHostContext): void;
  teardown(): Promise<unknown>;
}

declare global {
  interface Window {
    /** Offered by the test: answers a tool call, or throws. */
    answerToolCall(name: string, args: unknown): Promise<CallToolResult>;
    /** Offered by the test: keeps what the model is told. */
    tellModel(text: string): Promise<void>;
    showView(setup: HostSetup): Promise<void>;
    testHost: TestHost;
  }
}

/** Shows a view as hosts do: in a frame without an origin, over the official SDK's side of the protocol. */
window.showView = async ({ html, context = {}, callsTools = true, refusesCalls = false, width }) => {
  const frame = document.createElement('iframe');
  frame.setAttribute('sandbox', 'allow-scripts');
  frame.setAttribute('title', 'View');
  frame.style.cssText = `border: 0; display: block; height: 300px; width: ${width === undefined ? '100%' : `${width}px`}`;
  document.body.replaceChildren(frame);
  const { contentWindow } = frame;
  if (contentWindow === null) throw new Error('the frame has no window');
  const capabilities = { updateModelContext: { text: {} }, ...(callsTools && { serverTools: {} }) };
  const bridge = new AppBridge(null, { name: 'test-host', version: '1' }, capabilities, { hostContext: context });
  if (!refusesCalls) bridge.oncalltool = ({ name, arguments: args }) => window.answerToolCall(name, args);
  bridge.onupdatemodelcontext = async ({ content = [] }) => {
    for (const block of content) if (block.type === 'text') await window.tellModel(block.text);
    return {};
  };
  bridge.onsizechange = ({ height }) => {
    if (height !== undefined) frame.style.height = `${height}px`;
  };
  const initialized = new Promise<void>((resolve) => {
    bridge.oninitialized = () => {
      // For bench/views.mjs.
      performance.measure('ready', 'loading');
      resolve();
    };
  });
  await bridge.connect(new PostMessageTransport(contentWindow, contentWindow));
  performance.mark('loading');
  frame.srcdoc = html;
  await initialized;
  window.testHost = {
    async sendCall(call) {
      const { args, result } = JSON.parse(call);
      await bridge.sendToolInput({ arguments: args });
      await bridge.sendToolResult(result);
      // The view answers messages in their order.
      await bridge.request({ method: 'ping' }, EmptyResultSchema);
    },
    changeContext: (changed) => bridge.setHostContext(changed),
    teardown: () => bridge.teardownResource({}),
  };
};
