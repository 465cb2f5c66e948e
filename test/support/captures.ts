import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A recorded exchange with a real server: see test/fixtures/captures/README.md. */
export interface Capture {
  readonly name: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The object key that was asked for, where the recording names it. */
  readonly key?: string;
}

export const captureFolder = (server: string) =>
  fileURLToPath(new URL(`../fixtures/captures/${server}`, import.meta.url));

/** All recorded answers of a server. Files that hold no response are left out. */
export function captures(server: 'radosgw' | 'swift'): Capture[] {
  const folder = captureFolder(server);
  return readdirSync(folder)
    .sort()
    .flatMap((file) => {
      const bytes = readFileSync(`${folder}/${file}`);
      const text = bytes.toString('latin1');
      const marker = /^### response.*:\n/m.exec(text);
      const response = marker === null ? undefined : parse(bytes.subarray(marker.index + marker[0].length));
      const [, key] = /^### key (".*")$/m.exec(bytes.toString('utf8')) ?? [];
      if (response === undefined) return [];
      return [{ name: file.replace(/\.txt$/, ''), ...(key !== undefined && { key: JSON.parse(key) }), ...response }];
    });
}

function parse(bytes: Buffer): Omit<Capture, 'name' | 'key'> | undefined {
  const end = bytes.indexOf('\r\n\r\n');
  const [statusLine = '', ...lines] = bytes.subarray(0, end).toString('latin1').split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  if (Number.isNaN(status)) return undefined;
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
