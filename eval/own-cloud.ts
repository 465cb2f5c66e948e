import { forward, type RecordedCloud, type RelayedAnswer, type ReportedRequest, startRelay } from './cloud.js';

/** The cloud of a user's own operations. */
export interface OwnCloud {
  /** Settings of the server that name the operations, without the prefix `CLOUDOPS_`. */
  readonly settings: Readonly<Record<string, string>>;
  /** Settings that take the address of the cloud: `STORAGE_URL`. */
  readonly endpointSettings: readonly string[];
  /** Address of a cloud for tests that requests are forwarded to. If absent, a stand-in answers. */
  readonly address: URL | undefined;
  /** Answers of the stand-in, by tool. */
  readonly replies: Readonly<Record<string, Reply>>;
  /** The HTTP method of each tool that changes something. */
  readonly changes: Readonly<Record<string, string>>;
}

/** An answer of the stand-in. */
export interface Reply {
  readonly status: number;
  readonly body: string;
}

/**
 * Starts the cloud of own operations: a stand-in, or a relay to an address.
 * @param calledTool returns the tool that is being called
 * @param tell is told of a request before it is answered
 */
export async function startOwnCloud(
  { settings, endpointSettings, address, replies }: OwnCloud,
  calledTool: () => string,
  tell: (request: ReportedRequest) => void,
): Promise<RecordedCloud> {
  let count = 0;
  const reply = async (): Promise<RelayedAnswer> => {
    count += 1;
    const { status, body } = replies[calledTool()] ?? { status: 200, body: '' };
    const headers = { 'x-amz-request-id': `stand-in-${count}`, 'content-type': 'text/plain' };
    return { status, headers, content: Buffer.from(body) };
  };
  const relay = await startRelay(address === undefined ? reply : (request) => forward(request, address), tell);
  const url = relay.origin + (address?.pathname.replace(/\/+$/, '') ?? '');
  return {
    settings: { ...settings, ...Object.fromEntries(endpointSettings.map((name) => [name, url])) },
    close: relay.close,
  };
}
