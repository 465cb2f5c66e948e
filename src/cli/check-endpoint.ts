import { httpFailureRemedies, httpFailureText } from '../calls/remedies.js';
import type { HttpClient } from '../transport/http-client.js';
import { type Proxies, proxyFor } from '../transport/proxies.js';
import type { Endpoint } from '../transport/request.js';
import { exact, say, textFor, words } from '../util/safe-text.js';
import { type Finding, ok, problem, warning } from './finding.js';

/** The HTTP client, the proxies and the clock of checks that send requests. */
export interface CheckOptions {
  readonly httpClient: HttpClient;
  readonly proxies: Proxies;
  readonly now: () => Date;
}

/** Checks that an endpoint answers an unsigned request, even with an error, and compares its clock. */
export async function checkEndpoint(
  check: string,
  { origin, pathPrefix }: Endpoint,
  { httpClient, proxies, now }: CheckOptions,
): Promise<{ readonly answers: boolean; readonly findings: Finding[] }> {
  const url = new URL(origin);
  // Without its user name and password.
  const proxy = proxyFor(url, proxies)?.host;
  const throughProxy = proxy === undefined ? words('') : say` through the proxy ${exact(proxy)}`;

  const request = { method: 'GET', origin, path: `${pathPrefix}/`, headers: {}, newConnection: false } as const;
  const sentAt = now().getTime();
  const response = await httpClient.send(request, new AbortController().signal);
  // The endpoint read its clock between the request and the answer.
  const machineTime = (sentAt + now().getTime()) / 2;

  if (response.kind === 'failure') {
    const detail = say`A request${throughProxy} failed: ${httpFailureText(response, origin)}.`;
    const remedy = textFor('operator', httpFailureRemedies[response.code].text);
    return { answers: false, findings: [problem(check, detail, remedy)] };
  }

  // NaN without a Date header.
  const endpointTime = Date.parse(response.headers.date ?? '');
  const clock = clockFinding(`${check} clock`, endpointTime, machineTime);
  return { answers: true, findings: [ok(check, say`${exact(origin)} answers${throughProxy}`), clock] };
}

/** Compares the endpoint's time with the time of this machine (both in milliseconds). */
function clockFinding(check: string, endpointTime: number, machineTime: number): Finding {
  const remedy = 'Synchronize the clock of this machine (NTP): signatures are refused when it is off by 15 minutes.';
  if (Number.isNaN(endpointTime)) return warning(check, 'the endpoint sends no Date header', remedy);
  const seconds = Math.round((machineTime - endpointTime) / 1000);
  const difference = Math.abs(seconds);
  // One second may come from rounding, because the Date header has whole seconds.
  if (difference <= 1) return ok(check, 'in step with this machine');
  const span = difference < 120 ? say`${difference} s` : say`${Math.round(difference / 60)} min`;
  const detail = say`this machine is ${span} ${words(seconds > 0 ? 'ahead' : 'behind')}`;
  if (difference <= 60) return ok(check, detail);
  return difference <= 15 * 60 ? warning(check, detail, remedy) : problem(check, detail, remedy);
}
