import type { Cloud } from '../calls/endpoint.js';
import type { Policy } from '../calls/policy.js';
import type { ConsentMode } from '../consent/decision.js';
import type { Proxies } from '../transport/http-client.js';
import type { LogLevel } from '../util/log.js';

/** Everything the server is told from outside. */
export interface Config {
  readonly sandbox: boolean;
  readonly sandboxOptions: {
    readonly stateFile: string | undefined;
    readonly seed: string | undefined;
    readonly fault: string | undefined;
  };
  readonly cloud: Cloud;
  readonly policy: Policy;
  readonly confirm: ConsentMode;
  readonly secretsDir: string | undefined;
  /** Path of a file, or the address of a PostgreSQL database, which may hold a password. */
  readonly journal: string;
  /** Signs tokens that clients bring back; undefined means one of this process's own. */
  readonly stateKey: string | undefined;
  /** For a whole call, its attempts included. */
  readonly timeoutMs: number;
  readonly maximumAttempts: number;
  readonly logLevel: LogLevel;
  /** Whether the usual OTEL_* variables ask for traces. */
  readonly telemetry: boolean;
  /** Whether NODE_TLS_REJECT_UNAUTHORIZED=0 makes Node accept any certificate. */
  readonly insecureTls: boolean;
  readonly http: HttpSettings;
  /** From the usual variables HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. */
  readonly proxies: Proxies;
  /** What was set and where, for people to read. Secrets are named, never shown. */
  readonly origins: readonly Origin[];
}

/** Who may reach the HTTP server, and how often. */
export interface HttpSettings {
  readonly tokensFile: string | undefined;
  /** With `audience`: the OAuth issuer whose tokens are accepted. */
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  /** Host names without port. */
  readonly allowedHosts: readonly string[];
  /** Calls per second for each caller. */
  readonly rate: number;
  readonly metrics: { readonly host: string; readonly port: number } | undefined;
}

/** A setting that is not left to its default. */
export interface Origin {
  /** Such as `CLOUDOPS_REGION` or `CLOUDOPS_STATE_KEY_FILE`. */
  readonly name: string;
  /** For people to read; of a secret only what may be shown. */
  readonly value: string;
  /** Whether the real value is, or may hold, a secret. */
  readonly secret: boolean;
  /** Whether it is the path of a file or folder. */
  readonly isPath: boolean;
  readonly from: string;
}

export type ConfigResult =
  | { readonly ok: true; readonly config: Config }
  /** All problems, one sentence each. No value of a secret is in them. */
  | { readonly ok: false; readonly problems: readonly string[] };
