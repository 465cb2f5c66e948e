import { expect, test } from 'vitest';
import { documentationText, shortenText } from '../../src/models/documentation-text.js';

test.each([
  ['<p>Lists <code>books</code>.</p><p>It reads.</p>', 'Lists books. It reads.'],
  ['<ul><li>One</li><li>Two</li></ul>', 'One Two'],
  ['See <a href="https://example.com/?a=1&b=2">here</a> &amp; there&#33; &lt;b&gt;', 'See here & there! <b>'],
  ['`x` in [the guide](https://example.com)', 'x in the guide'],
  ['<!-- hidden\n -->A  text\n on two lines', 'A text on two lines'],
  ['&unknown; &#99999999; a < b', '&unknown; &#99999999; a < b'],
])('%s', (documentation, expected) => {
  expect(documentationText(documentation)).toBe(expected);
});

test.each([
  ['within a tag', ' <a href="https://docs.example.com/guide">there</a>', 20],
  ['within an entity', ' &quot;x&quot;', 4],
  ['within a word', ' word', 3],
])('a long text that is cut %s ends before it', (_where, end, kept) => {
  const start = 'a'.repeat(1500 - kept);
  expect(documentationText(start + end + 'b'.repeat(100))).toBe(`${start}…`);
});

test.each([
  ['Whole sentences fit. The second does not fit.', 30, 'Whole sentences fit.'],
  ['A single sentence that is too long', 20, 'A single sentence…'],
  ['Short', 20, 'Short'],
  ['バックアップを削除します。元に戻せません。', 15, 'バックアップを削除します。'],
  ['No room is left', 5, ''],
])('%s within %d characters', (text, limit, expected) => {
  expect(shortenText(text, limit)).toBe(expected);
});
