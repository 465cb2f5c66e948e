import { describe, expect, test } from 'vitest';
import { readRecord } from '../../src/calls/read-reply.js';
import { listParts } from '../../src/tools/list-parts.js';
import { parseBody } from '../../src/transport/parse-body.js';
import { readServiceError, requestIdsOf } from '../../src/transport/service-error.js';
import { quote } from '../../src/util/quote.js';
import { type Capture, captures } from '../support/captures.js';

const pageSchema = (listParts.pages?.page ?? listParts.output)();

/** One line of what is read in a recorded answer. */
function summary({ name, status, headers, body }: Capture): string {
  const ids = Object.keys(requestIdsOf(headers)).length;
  const decoded = parseBody(body);
  const record =
    decoded.kind === 'xml' && status === 200
      ? listParts.extract(decoded.value, { bucket: 'b', object: 'o', uploadId: 'u' }, {}, 200)
      : undefined;
  if (record === undefined) {
    const { code = '-', message } = readServiceError(decoded, headers);
    return `${name}: ${status} ${decoded.kind} ${code} ${message === undefined ? 'no message' : 'message'}, ${ids} ids`;
  }
  const { record: read, warnings } = readRecord(pageSchema, record);
  const parts = Array.isArray(read.parts) ? read.parts.map((part: { partNumber: number }) => part.partNumber) : [];
  const shown = parts.length > 3 ? `${parts.length} parts` : `parts [${parts}]`;
  const { object, isTruncated, nextPartNumberMarker, encodingType } = read;
  return [
    `${name}: ${status} ${quote(String(object), 40)} ${shown} truncated=${isTruncated} next=${nextPartNumberMarker ?? '-'}`,
    `${encodingType === undefined ? '' : ` encoding=${encodingType}`}, ${ids} ids, ${warnings.join(' ') || 'no warnings'}`,
  ].join('');
}

describe.each(['radosgw', 'swift'] as const)('answers recorded from %s', (server) => {
  test('are read as expected', async () => {
    const lines = captures(server).map(summary);
    expect(lines.length).toBeGreaterThan(150);
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot(`../fixtures/captures/${server}.golden.txt`);
  });

  test('every key is read as it was asked for, also where the service percent-encodes it', () => {
    const asked = captures(server).filter(({ key, status }) => key !== undefined && status === 200);
    expect(asked.length).toBeGreaterThan(50);
    for (const { name, key, body } of asked) {
      const decoded = parseBody(body);
      const record =
        decoded.kind === 'xml'
          ? listParts.extract(decoded.value, { bucket: 'b', object: 'o', uploadId: 'u' }, {}, 200)
          : undefined;
      const { record: read } = readRecord(pageSchema, record);
      expect(read.object, name).toBe(key);
    }
  });

  test('no answer that is a success is left with a warning, and no error without a status', () => {
    for (const capture of captures(server)) expect(summary(capture)).toMatch(/no warnings|ids$/);
  });
});
