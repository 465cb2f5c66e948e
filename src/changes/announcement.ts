import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient } from '../transport/http-client.js';
import { type Log, reasonOf } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import type { Announcement } from './required-consent.js';

interface Webhook {
  /** Secret, because anyone who knows the URL can send messages. */
  readonly url: string;
  readonly key: string | undefined;
}

/** Rate limit, because a caller can make and withdraw any number of plans. */
const mostOfCaller = 20;
const spanMs = 10 * 60_000;

/** Announces waiting plans in the log and by a webhook. Calls do not wait for announcements. */
export function createAnnouncer({
  webhook,
  openClient,
  now,
  log,
  pause = (milliseconds) => delay(milliseconds, undefined, { ref: false }),
}: {
  readonly webhook: Webhook | undefined;
  readonly openClient: () => Promise<HttpClient>;
  readonly now: () => Date;
  readonly log: Log;
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}) {
  const openClientOnce = lazy(openClient);
  let recent: readonly { readonly caller: string | undefined; readonly at: number }[] = [];

  /** Never rejects. */
  const sendMessage = async (target: Webhook, { headline, decideAt }: Announcement): Promise<void> => {
    // In Slack's format, which other chat services accept too.
    const body = JSON.stringify({ text: `${withoutMarkup(escapeInvisible(headline.text))} <${decideAt}|Decide>` });
    // Between attempts (milliseconds).
    for (const pauseMs of [1_000, 5_000, 30_000, undefined]) {
      const problem = await post(openClientOnce, target, body, now()).catch(reasonOf);
      if (problem === undefined) return;
      // Not the error's message, which could quote the secret URL.
      if (pauseMs === undefined) log('warn', 'webhook', { error: problem });
      else await pause(pauseMs);
    }
  };

  return (announcement: Announcement): void => {
    const { tool, caller, decideAt } = announcement;
    log('info', 'decision needed', { tool, caller, decideAt });
    if (webhook === undefined) return;

    const at = now().getTime();
    recent = recent.filter((message) => at - message.at < spanMs);
    if (recent.filter((message) => message.caller === caller).length >= mostOfCaller) {
      log('warn', 'webhook', { caller, error: 'too many announcements of this caller in ten minutes' });
      return;
    }
    recent = [...recent, { caller, at }];
    void sendMessage(webhook, announcement);
  };
}

/** Resolves with the problem, if the message was not taken. */
async function post(
  openClient: () => Promise<HttpClient>,
  { url, key }: Webhook,
  body: string,
  time: Date,
): Promise<string | undefined> {
  const timestamp = String(Math.floor(time.getTime() / 1000));
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-cloudops-timestamp': timestamp };
  if (key !== undefined) {
    const mac = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
    headers['x-cloudops-signature'] = `sha256=${mac}`;
  }

  const { origin, pathname, search } = new URL(url);
  const path = `${pathname}${search}`;
  // On a connection that is just closing, the message could be lost.
  const request = { method: 'POST', origin, path, headers, body, newConnection: true } as const;
  const response = await (await openClient()).send(request, AbortSignal.timeout(5_000));
  if (response.kind === 'failure') return response.code;
  const { status } = response;
  return status >= 200 && status < 300 ? undefined : `HTTP status ${status}`;
}

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Slack has no escape for these. */
const lookalikes: Readonly<Record<string, string>> = { '*': '\u2217', _: '\u02cd', '~': '\u223c', '`': '\u02cb' };
/** A `_` between letters or digits, as in `my_server`, formats nothing. */
const formatting = /[*~`]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
/** Characters of links (`a.com`), mentions (`@a`) and emojis (`:a:`). */
const recognized = /[@#:\]]|(?<=[\p{L}\p{N}])\.(?=[\p{L}\p{N}])/gu;
/** Keeps names from mentioning everybody (`<!channel>`) or holding a link. */
const withoutMarkup = (text: string) =>
  text
    .replace(formatting, (sign) => lookalikes[sign] ?? sign)
    .replace(recognized, (sign) => `${sign}\u200b`)
    .replace(/[&<>]/g, (sign) => entities[sign] ?? sign);
