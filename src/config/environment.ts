import { userInfo } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Proxies } from '../transport/connections.js';
import { attempt } from '../util/objects.js';
import { own, type SafeText, say } from '../util/safe-text.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads the variables `https_proxy`, `http_proxy` and `no_proxy`, also in upper case. */
export function readProxies(env: Environment, report: (problem: SafeText) => void): Proxies {
  const read = (name: string) => env[name] || env[name.toUpperCase()] || undefined;
  const readAddress = (name: string) => {
    const address = read(name);
    // The problem does not show the address, because it may hold a password.
    const isProxy = () => {
      const { protocol, username, password } = new URL(address ?? '');
      decodeURIComponent(username + password);
      return /^(https?|socks5?):$/.test(protocol);
    };
    if (address !== undefined && !attempt(isProxy, false))
      report(say`${own(name.toUpperCase())} is not the address of a proxy, such as http://proxy.example.com:3128.`);
    return address;
  };
  return { httpProxy: readAddress('http_proxy'), httpsProxy: readAddress('https_proxy'), noProxy: read('no_proxy') };
}

export function asksForTraces(env: Environment): boolean {
  if (env.OTEL_SDK_DISABLED?.toLowerCase() === 'true') return false;
  if (env.OTEL_TRACES_EXPORTER) return env.OTEL_TRACES_EXPORTER.split(',').includes('otlp');
  return Boolean(env.OTEL_EXPORTER_OTLP_ENDPOINT || env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT);
}

/** Trims the value of a variable, and takes off quotation marks, which some clients copy from a file of settings. */
export function textOfVariable(value: string): string {
  const text = value.trim();
  return /^(["'])(.*)\1$/s.exec(text)?.[2]?.trim() ?? text;
}

/** In a container, the user may be unknown. */
const homeOf = (env: Environment): string =>
  env.HOME || env.USERPROFILE || attempt(() => userInfo().homedir, '') || '.';

/** Replaces `~` at the beginning of a path by the user's home folder. */
export const withHome = (path: string, env: Environment): string => path.replace(/^~(?=$|[/\\])/, () => homeOf(env));

/** The default path of the journal, with another file for the sandbox. A relative folder is ignored, as the XDG standard says. */
export function defaultJournal(env: Environment, sandbox: boolean): string {
  const folders = [env.XDG_STATE_HOME, env.LOCALAPPDATA].filter((folder) => folder !== undefined);
  const state = folders.find(isAbsolute) ?? join(homeOf(env), '.local', 'state');
  return join(state, 'cloudops-mcp', sandbox ? 'journal-sandbox.db' : 'journal.db');
}
