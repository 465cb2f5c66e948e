// A proxy in front of a store. It limits the rate of all connections together, and records when each part was begun and had arrived.

import { once } from 'node:events';
import { Agent, createServer, request as requestUpstream } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const tickMs = 20;

/**
 * @param origin URL of the store
 * @param rateAt bytes per second at a time in milliseconds since the start of the recording
 * @param failed tells whether an attempt at a part is answered with 503: (part, attempt) => boolean
 * @param slowFactor share of a fair rate that the second connection gets
 */
export async function startUploadProxy(origin, { rateAt, failed = () => false, slowFactor, connections }) {
  const startedAt = performance.now();
  const elapsedMs = () => Math.round(performance.now() - startedAt);
  const link = createLink(() => rateAt(elapsedMs()));
  const agent = new Agent({ keepAlive: true });
  const recorded = { arrivals: [], requests: [], initiatedMs: undefined };
  const attempts = new Map();
  const sockets = new Map();

  async function readPart(incoming) {
    const { socket } = incoming;
    if (!sockets.has(socket)) sockets.set(socket, sockets.size + 1);
    const isSlow = slowFactor !== undefined && sockets.get(socket) % connections === 2 % connections;
    const chunks = [];
    for await (const chunk of incoming) {
      if (isSlow) await sleep((1000 * chunk.length * connections) / (slowFactor * rateAt(elapsedMs())));
      await link.take(chunk.length);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  }

  async function forward(incoming, outgoing, body) {
    const { method, url: path, rawHeaders: headers } = incoming;
    const upstream = requestUpstream(new URL(origin), { method, path, headers, agent, setHost: false });
    if (body === undefined) incoming.pipe(upstream);
    else upstream.end(body);
    const [reply] = await once(upstream, 'response');
    const chunks = [];
    for await (const chunk of reply) chunks.push(chunk);
    return {
      status: reply.statusCode,
      answer: () => outgoing.writeHead(reply.statusCode, reply.rawHeaders).end(Buffer.concat(chunks)),
    };
  }

  async function servePart(incoming, outgoing, number) {
    const begin = elapsedMs();
    const attempt = (attempts.get(number) ?? 0) + 1;
    attempts.set(number, attempt);
    const entry = [number, begin, undefined, 0];
    recorded.requests.push(entry);
    try {
      const body = await readPart(incoming);
      if (failed(number, attempt)) {
        entry[3] = 503;
        const problem = '<?xml version="1.0"?><Error><Code>SlowDown</Code><Message>Please slow down.</Message></Error>';
        outgoing.writeHead(503, { 'content-type': 'application/xml' }).end(problem);
        return;
      }
      const { status, answer } = await forward(incoming, outgoing, body);
      entry[3] = status;
      const size = Number(incoming.headers['x-amz-decoded-content-length'] ?? body.length);
      if (status === 200) recorded.arrivals.push([number, size, elapsedMs()]);
      answer();
    } finally {
      entry[2] = elapsedMs();
    }
  }

  async function serve(incoming, outgoing) {
    const { method, url } = incoming;
    const query = new URL(url, origin).searchParams;
    if (method === 'PUT' && query.has('partNumber'))
      return servePart(incoming, outgoing, Number(query.get('partNumber')));
    const { answer } = await forward(incoming, outgoing);
    if (method === 'POST' && query.has('uploads')) recorded.initiatedMs ??= elapsedMs();
    answer();
  }

  const server = createServer((incoming, outgoing) => {
    serve(incoming, outgoing).catch(() => outgoing.destroy());
  });
  server.requestTimeout = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    elapsedMs,
    recorded,
    close() {
      link.close();
      agent.destroy();
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Hands out bytes at a rate, to one taker after the other. */
function createLink(rate) {
  const waiting = [];
  let allowed = 0;
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    allowed = Math.min(allowed + (rate() * (now - last)) / 1000, rate() / 5 + 65_536);
    last = now;
    while (allowed > 0 && waiting.length > 0) {
      const { bytes, done } = waiting.shift();
      allowed -= bytes;
      done();
    }
  }, tickMs);
  return {
    take: (bytes) => new Promise((done) => waiting.push({ bytes, done })),
    close: () => clearInterval(timer),
  };
}
