import { expect, test } from 'vitest';
import { json, xml } from '../../src/tools/request-body.js';
import { encodeContent } from '../../src/transport/request.js';

test.each([
  ['no content', undefined, undefined, {}],
  ['JSON', json({ a: 'ü', b: undefined }), '{"a":"ü"}', { 'content-type': 'application/json' }],
  [
    'JSON with its MD5',
    json({}, { contentMd5: true }),
    '{}',
    { 'content-type': 'application/json', 'content-md5': 'mZFLkyvTelC5g8XnyQrpOw==' },
  ],
  [
    'XML',
    xml('A', { B: 1 }),
    '<?xml version="1.0" encoding="UTF-8"?>\n<A>\n  <B>1</B>\n</A>\n',
    { 'content-type': 'application/xml' },
  ],
] as const)('%s has its headers', (_what, body, text, headers) => {
  expect(encodeContent(body)).toEqual({ text, headers });
});
