import { readFileSync } from 'node:fs';
import * as z from 'zod';

/** A line of test/fixtures/captures/*.jsonl. The README there describes the fields. */
const lineSchema = z.object({
  server: z.enum(['radosgw', 'swift']),
  name: z.string(),
  key: z.string().optional(),
  response: z.string(),
});

/** A recorded answer of a real server. */
export interface Capture {
  readonly name: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The object key that was asked for, where the recording names it. */
  readonly key: string | undefined;
}

/** All recorded answers of a server, in the order of its golden file. */
export function captures(server: 'radosgw' | 'swift'): Capture[] {
  return ['list-parts', 'errors', 'others']
    .flatMap((shape) => readFileSync(`test/fixtures/captures/${shape}.jsonl`, 'utf8').trimEnd().split('\n'))
    .map((line) => lineSchema.parse(JSON.parse(line)))
    .filter((line) => line.server === server)
    .map(({ name, key, response }) => ({ name, key, ...parse(Buffer.from(response)) }))
    .sort((a, b) => (`${a.name}.txt` < `${b.name}.txt` ? -1 : 1));
}

function parse(bytes: Buffer): Omit<Capture, 'name' | 'key'> {
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) throw new Error(`no status: ${statusLine}`);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const raw = bytes.subarray(end + 4);
  const length = Number(headers['content-length'] ?? raw.length);
  const body = headers['transfer-encoding'] === 'chunked' ? dechunk(raw) : raw.subarray(0, length);
  return { status, headers, body: body.toString('utf8') };
}

function dechunk(bytes: Buffer): Buffer {
  const lineEnd = bytes.indexOf('\r\n');
  const size = lineEnd < 0 ? 0 : Number.parseInt(bytes.subarray(0, lineEnd).toString('latin1'), 16);
  if (!(size > 0)) return Buffer.alloc(0);
  const start = lineEnd + 2;
  return Buffer.concat([bytes.subarray(start, start + size), dechunk(bytes.subarray(start + size + 2))]);
}
