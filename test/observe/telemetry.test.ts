import { afterEach, expect, test, vi } from 'vitest';
import { startTelemetry, type TraceParent } from '../../src/observe/telemetry.js';
import { spansOf } from '../support/collector.js';
import { startServer } from '../support/http-server.js';

const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const traceparent = (sampled: boolean) => `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;

afterEach(() => vi.unstubAllEnvs());

/** The spans of a call with one request to the cloud, at a collector. */
async function spansOfCall(parent: TraceParent, env: Record<string, string> = {}) {
  const collector = await startServer((_request, response) => response.end('{}'));
  vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.origin);
  for (const [name, value] of Object.entries(env)) vi.stubEnv(name, value);
  const telemetry = startTelemetry('0', () => undefined);
  const span = telemetry.tracer('tools/call list_parts', {}, parent);
  span.child('GET', {}).end({}, undefined);
  span.end({}, undefined);
  await telemetry.close();
  await collector.close();
  const [call, request] = ['tools/call list_parts', 'GET'].map((name) =>
    spansOf(collector).find((found) => found.name === name),
  );
  return { call, request };
}

test('a collector that does not take spans is logged with the reason', async () => {
  const reasonOf = async (answer: Parameters<typeof startServer>[0]) => {
    const collector = await startServer(answer);
    vi.stubEnv('OTEL_EXPORTER_OTLP_ENDPOINT', collector.origin);
    vi.stubEnv('OTEL_EXPORTER_OTLP_TIMEOUT', '500');
    const logged: unknown[] = [];
    const telemetry = startTelemetry('0', (...event) => logged.push(event));
    telemetry.tracer('tools/call list_parts', {}, {}).end({}, undefined);
    await telemetry.close();
    await collector.close();
    return logged;
  };
  const failed = (error: string) => [['warn', 'telemetry', { ok: false, error }]];
  expect(await reasonOf((_request, response) => void response.destroy())).toEqual(failed('ECONNRESET'));
  expect(await reasonOf((_request, response) => response.writeHead(401, 'MARKER').end('MARKER'))).toEqual(
    failed('HTTP status 401'),
  );
});

test.each([true, false])(
  'over HTTP, a call is a trace of its own with a link to its caller, who cannot choose the trace or switch it off (sampled: %s)',
  async (sampled) => {
    const { call, request } = await spansOfCall({ traceparent: traceparent(sampled), linkOnly: true });
    expect(call).toMatchObject({ traceId: expect.not.stringContaining(traceId), links: [{ traceId, spanId }] });
    expect(call?.parentSpanId ?? '').toBe('');
    expect(request).toMatchObject({ traceId: call?.traceId, parentSpanId: call?.spanId });
  },
);
