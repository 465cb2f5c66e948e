import { exact, own, type SafeText, say } from '../util/safe-text.js';
import type { Plan } from './plan.js';

/** The request as it would be sent: method and URL, headers, and the body as JSON, in which no value can pass for our words. */
export const requestLines = ({
  method,
  url,
  headers,
  body,
}: Pick<Plan, 'method' | 'url' | 'headers' | 'body'>): SafeText[] => [
  say`${own(method)} ${exact(url)}`,
  ...Object.entries(headers).map(([name, value]) => say`${own(name)}: ${exact(value)}`),
  ...(body === undefined ? [] : linesOf(body).map((line) => say`${exact(line)}`)),
];

const linesOf = (body: unknown) =>
  (typeof body === 'string' ? body.trimEnd() : JSON.stringify(body, null, 2)).split('\n');
