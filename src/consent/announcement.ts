import { createHmac } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { HttpClient } from '../transport/http-client.js';
import { type Log, reasonOf } from '../util/log.js';
import { lazy } from '../util/objects.js';
import { escapeInvisible } from '../util/quote.js';
import type { Announcement } from './decision-page.js';

interface Webhook {
  /** Secret, because anyone who knows the URL can write there. */
  readonly url: string;
  /** Signs messages. Without a key, they are unsigned. */
  readonly key: string | undefined;
}

interface AnnouncerOptions {
  readonly webhook: Webhook | undefined;
  /** Opened with the first announcement to the webhook. */
  readonly openClient: () => Promise<HttpClient>;
  readonly now: () => Date;
  readonly log: Log;
  /** Replaces the pauses between attempts in tests. */
  readonly pause?: (milliseconds: number) => Promise<unknown>;
}

/** Pauses before the second and later attempts (milliseconds). */
const pausesMs = [1_000, 5_000, 30_000];
const answerMs = 5_000;
/** Maximum number of messages under way. Further plans are only logged. */
const mostUnderWay = 50;
/** Rate limit per caller: `mostOfCaller` announcements in `spanMs`. Without it, a caller could make and withdraw any number of plans. */
const mostOfCaller = 20;
const spanMs = 10 * 60_000;

/** Announces waiting plans in the log and by a webhook. Calls do not wait for announcements, and succeed without them. */
export function createAnnouncer({ webhook, openClient, now, log, pause = quietDelay }: AnnouncerOptions) {
  const openClientOnce = lazy(openClient);
  let underWay = 0;
  let recent: readonly { readonly caller: string | undefined; readonly at: number }[] = [];
  /** Counts an announcement, or returns the reason for sending no message. */
  const countAnnouncement = (caller: string | undefined): string | undefined => {
    if (underWay >= mostUnderWay) return 'too many announcements are under way';
    const at = now().getTime();
    recent = recent.filter((announcement) => at - announcement.at < spanMs);
    const ofCaller = recent.filter((announcement) => announcement.caller === caller);
    if (ofCaller.length >= mostOfCaller) return 'too many announcements of this caller in ten minutes';
    recent = [...recent, { caller, at }];
    return undefined;
  };
  const sendMessage = async (hook: Webhook, announcement: Announcement): Promise<void> => {
    const body = bodyOf(announcement);
    underWay += 1;
    try {
      await retryPost(async () => post(await openClientOnce(), hook, body, now()), pause);
    } catch (error) {
      // The reason is a code, so the log never holds the URL.
      log('warn', 'webhook', { error: reasonOf(error) });
    } finally {
      underWay -= 1;
    }
  };
  return (announcement: Announcement): void => {
    const { tool, caller, decideAt } = announcement;
    log('info', 'decision needed', { tool, caller, decideAt });
    if (webhook === undefined) return;
    const error = countAnnouncement(caller);
    if (error !== undefined) log('warn', 'webhook', { caller, error });
    else void sendMessage(webhook, announcement);
  };
}

const quietDelay = (milliseconds: number) => delay(milliseconds, undefined, { ref: false });

/** An answer that further attempts would not change. */
class Refused extends Error {}

/** Repeats an attempt after each pause of `pausesMs`, unless it is refused. */
async function retryPost(
  attempt: () => Promise<void>,
  pause: (milliseconds: number) => Promise<unknown>,
): Promise<void> {
  for (const pauseMs of pausesMs) {
    try {
      return await attempt();
    } catch (error) {
      if (error instanceof Refused) throw error;
      await pause(pauseMs);
    }
  }
  return attempt();
}

async function post(client: HttpClient, { url, key }: Webhook, body: string, time: Date): Promise<void> {
  const timestamp = String(Math.floor(time.getTime() / 1000));
  const headers: Record<string, string> = { 'content-type': 'application/json', 'x-cloudops-timestamp': timestamp };
  if (key !== undefined) {
    const mac = createHmac('sha256', key).update(`${timestamp}.${body}`).digest('hex');
    headers['x-cloudops-signature'] = `sha256=${mac}`;
  }
  const { origin, pathname, search } = new URL(url);
  const request = { method: 'POST', origin, path: `${pathname}${search}`, headers, body, newConnection: true } as const;
  const response = await client.send(request, AbortSignal.timeout(answerMs));
  if (response.kind === 'failure') throw new Error(response.code);
  const { status } = response;
  if (status >= 200 && status < 300) return;
  const problem = `HTTP status ${status}`;
  throw status === 429 || status >= 500 ? new Error(problem) : new Refused(problem);
}

/** The headline and the link, in Slack's format, which other services read as well. */
const bodyOf = ({ headline, decideAt }: Announcement): string =>
  JSON.stringify({ text: `${withoutMarkup(escapeInvisible(headline.text))} <${decideAt}|Decide>` });

const entities: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };
/** Characters that look like those that Slack and Markdown format with. Slack has no escape for them. */
const lookalikes: Readonly<Record<string, string>> = { '*': '\u2217', _: '\u02cd', '~': '\u223c', '`': '\u02cb' };
/** Formatting characters. Between letters, `_` formats nothing, and names often have it there. */
const formatting = /[*~`]|(?<![\p{L}\p{N}])_|_(?![\p{L}\p{N}])/gu;
/** The places in which a link, a mention, an emoji or a Markdown link would be recognised. */
const recognized = /[@#:\]]|(?<=[\p{L}\p{N}])\.(?=[\p{L}\p{N}])/gu;
/** An invisible space. After it, chat services recognise no link, mention or emoji. */
const zeroWidthSpace = '\u200b';

/** Text that chat services show as it is, because a name may hold a link, a mention or formatting, such as `<!channel>`. */
const withoutMarkup = (text: string) =>
  text
    .replace(formatting, (sign) => lookalikes[sign] ?? sign)
    .replace(recognized, (sign) => sign + zeroWidthSpace)
    .replace(/[&<>]/g, (sign) => entities[sign] ?? sign);
