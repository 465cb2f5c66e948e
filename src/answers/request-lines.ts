import { spellOut } from '../util/quote.js';
import type { Plan } from './plan.js';

/** The request as it would be sent: method and URL, headers, and the body as JSON, in which no value can pass for our words. */
export const requestLines = ({ method, url, headers, body }: Plan): string[] => [
  `${method} ${url}`,
  ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
  ...(body === undefined ? [] : linesOf(body).map(spellOut)),
];

const linesOf = (body: unknown) =>
  (typeof body === 'string' ? body.trimEnd() : JSON.stringify(body, null, 2)).split('\n');
