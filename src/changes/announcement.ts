import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient } from '../transport/http-client.js';
import { type Log, reasonOf } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import type { Announcement } from './decision-page.js';

interface Webhook {
  /** Secret, because anyone who knows the URL can send messages to it. */
  readonly url: string;
  /** Signs messages. Without a key, they are unsigned. */
  readonly key: string | undefined;
}

interface AnnouncerOptions {
  readonly webhook: Webhook | undefined;
  /** Called once, with the first announcement to the webhook. */
  readonly openClient: () => Promise<HttpClient>;
  readonly now: () => Date;
  readonly log: Log;
  /** Replaces the pauses between attempts in tests. */
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

/** Pauses before the second, third and fourth attempt (milliseconds). */
const pausesMs = [1_000, 5_000, 30_000];
const answerMs = 5_000;
/** Maximum number of messages that are being sent or retried. Further plans are only logged. */
const mostUnderWay = 50;
/** Rate limit per caller: `mostOfCaller` messages in `spanMs`, because a caller can make and withdraw any number of plans. */
const mostOfCaller = 20;
const spanMs = 10 * 60_000;

/** Announces waiting plans in the log and by a webhook. Calls do not wait for announcements, and succeed without them. */
export function createAnnouncer({ webhook, openClient, now, log, pause = quietDelay }: AnnouncerOptions) {
  const openClientOnce = lazy(openClient);
  let underWay = 0;
  /** The messages of the last `spanMs`, without those that a limit stopped. */
  let recentMessages: readonly { readonly caller: string | undefined; readonly at: number }[] = [];

  /** Returns the limit that stops a caller's message now; undefined if the message may be sent. Forgets messages older than `spanMs`. */
  const reachedLimit = (caller: string | undefined): string | undefined => {
    if (underWay >= mostUnderWay) return 'too many announcements are under way';
    const time = now().getTime();
    recentMessages = recentMessages.filter(({ at }) => time - at < spanMs);
    const ofCaller = recentMessages.filter((message) => message.caller === caller);
    return ofCaller.length >= mostOfCaller ? 'too many announcements of this caller in ten minutes' : undefined;
  };

  /** Sends a message, and again after each pause until it arrives or a retry cannot succeed. Never rejects. */
  const sendMessage = async (target: Webhook, announcement: Announcement): Promise<void> => {
    const body = bodyOf(announcement);
    underWay += 1;
    for (const pauseMs of [...pausesMs, undefined]) {
      const { problem, mayRetry = true } = await post(openClientOnce, target, body, now()).catch(
        (error: unknown): Posted => ({ problem: reasonOf(error) }),
      );
      if (problem === undefined) break;
      if (pauseMs === undefined || !mayRetry) {
        // The problem is a code and not a message, which could quote the secret URL.
        log('warn', 'webhook', { error: problem });
        break;
      }
      await pause(pauseMs);
    }
    underWay -= 1;
  };

  return (announcement: Announcement): void => {
    const { tool, caller, decideAt } = announcement;
    log('info', 'decision needed', { tool, caller, decideAt });
    if (webhook === undefined) return;

    const limit = reachedLimit(caller);
    if (limit !== undefined) {
      log('warn', 'webhook', { caller, error: limit });
      return;
    }
    recentMessages = [...recentMessages, { caller, at: now().getTime() }];
    void sendMessage(webhook, announcement);
  };
}

const quietDelay = (milliseconds: number) => delay(milliseconds, undefined, { ref: false });

/** Why a message did not arrive, if it did not. */
interface Posted {
  readonly problem?: string;
  /** False if further attempts would not change the answer. */
  readonly mayRetry?: boolean;
}

/** Sends one message to the webhook. */
async function post(
  openClient: () => Promise<HttpClient>,
  { url, key }: Webhook,
  body: string,
  time: Date,
): Promise<Posted> {
  const timestamp = String(Math.floor(time.getTime() / 1000));
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-cloudops-timestamp': timestamp };
  if (key !== undefined) {
    const mac = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
    headers['x-cloudops-signature'] = `sha256=${mac}`;
  }

  const { origin, pathname, search } = new URL(url);
  const path = `${pathname}${search}`;
  // A kept-alive connection may be just closing, and then the message could be lost.
  const request = { method: 'POST', origin, path, headers, body, newConnection: true } as const;
  const response = await (await openClient()).send(request, AbortSignal.timeout(answerMs));
  if (response.kind === 'failure') return { problem: response.code };
  const { status } = response;
  if (status >= 200 && status < 300) return {};
  return { problem: `HTTP status ${status}`, mayRetry: status === 429 || status >= 500 };
}

/** The JSON body of a message: the headline and the link, in Slack's format, which other chat services accept too. */
const bodyOf = ({ headline, decideAt }: Announcement): string =>
  JSON.stringify({ text: `${withoutMarkup(escapeInvisible(headline.text))} <${decideAt}|Decide>` });

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Replacements that look like the formatting characters of Slack and Markdown, because Slack has no escape for these. */
const lookalikes: Readonly<Record<string, string>> = { '*': '\u2217', _: '\u02cd', '~': '\u223c', '`': '\u02cb' };
/** Formatting characters. A `_` between letters or digits, as in `my_server`, formats nothing and stays. */
const formatting = /[*~`]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
/** The characters by which chat services recognise a link (`a.com`), a mention (`@a`), an emoji (`:a:`) or a Markdown link (`](`). */
const recognized = /[@#:\]]|(?<=[\p{L}\p{N}])\.(?=[\p{L}\p{N}])/gu;
/** An invisible space. Behind a character of `recognized`, it keeps chat services from recognising a link, a mention or an emoji. */
const zeroWidthSpace = '\u200b';

/** Changes text so that chat services show it as it is. A name could otherwise mention everybody (`<!channel>`), or hold a link. */
const withoutMarkup = (text: string) =>
  text
    .replace(formatting, (sign) => lookalikes[sign] ?? sign)
    .replace(recognized, (sign) => sign + zeroWidthSpace)
    .replace(/[&<>]/g, (sign) => entities[sign] ?? sign);
