import { exact, own, type SafeText, say } from '../util/safe-text.js';
import type { Plan } from './outcome.js';

/** The lines of a request for review: method and URL, headers, and body. */
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
