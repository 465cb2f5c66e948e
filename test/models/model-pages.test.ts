import { describe, expect, test } from 'vitest';
import { pagesOf } from '../../src/models/model-pages.js';
import { member, smallModel } from './small-model.js';

const books = { inputToken: 'Marker', outputToken: 'NextMarker', items: 'Books', pageSize: 'Limit' };

function pagesWith(paginated: object | undefined, shared?: object) {
  const text = { target: 'smithy.api#String' };
  const input = {
    ...{ Marker: 'String', IdMarker: 'String', Key: 'small#Key', Limit: 'Integer' },
    Size: member('Integer', { required: {} }),
  };
  const model = smallModel(
    { List: { input, ...(paginated && { traits: { 'smithy.api#paginated': paginated } }) } },
    { 'small#Key': { type: 'map', key: text, value: text } },
    'restJson1',
    shared && { 'smithy.api#paginated': shared },
  );
  return pagesOf(model, model.operation('List'));
}

/** Adds pages until one of them is the last, as a call does. */
function joined(paginated: object, records: readonly Record<string, unknown>[]) {
  const pages = pagesWith(paginated);
  if (pages === undefined) throw new Error('has no pages');
  let state = pages.reducer.start();
  const starts: unknown[] = [];
  for (const [index, record] of records.entries()) {
    const step = pages.reducer.add(state, { record, number: index + 1 });
    state = step.state;
    if (step.kind === 'end') return { record: pages.reducer.result(state), doubt: step.doubt?.text, starts };
    starts.push(step.after);
  }
  return { record: pages.reducer.result(state), starts };
}

describe('the start of a page is an argument', () => {
  test.each([
    ['as the operation says', books, undefined, ['Marker']],
    ['as the service says', { items: 'Books' }, { inputToken: 'Marker', outputToken: 'NextMarker' }, ['Marker']],
    [
      'also two of botocore',
      { inputToken: ['Marker', 'IdMarker'], outputToken: ['NextMarker', 'NextId'] },
      undefined,
      ['Marker', 'IdMarker'],
    ],
  ])('%s', (_, paginated, shared, members) => {
    expect(pagesWith(paginated, shared)).toMatchObject({ tokens: members.map((member) => ({ member })) });
  });

  test.each([
    ['without the trait', undefined],
    ['if the start is neither a text nor a map', { ...books, inputToken: 'Limit' }],
    ['if the start is no member', { ...books, inputToken: 'Other' }],
    ['if the start has to be computed', { ...books, outputToken: 'NextMarker || Books[-1].Id' }],
    ['if a start is missing', { ...books, outputToken: ['NextMarker', 'NextId'] }],
  ])('unless pages are unknown: %s', (_, paginated) => {
    expect(pagesWith(paginated)).toBeUndefined();
  });
});

describe('pages are joined', () => {
  test('until one has no start of the next', () => {
    const result = joined(books, [
      { Books: ['a'], NextMarker: 'm1', Count: 1, Shelf: 's' },
      { Books: ['b', 'c'], NextMarker: 'm2', Count: 2, Shelf: 's' },
      { Books: [], NextMarker: '', Count: 2, Shelf: 's' },
    ]);
    expect(result).toEqual({
      record: { Books: ['a', 'b', 'c'], Count: 5, Shelf: 's' },
      starts: [{ Marker: 'm1' }, { Marker: 'm2' }],
    });
  });

  test('by starts that are maps, as the keys of DynamoDB', () => {
    const keys = { inputToken: 'Key', outputToken: 'LastKey', items: 'Books' };
    const next = { Id: { S: 'a' } };
    const { starts } = joined(keys, [
      { Books: ['a'], LastKey: next },
      { Books: ['b'], LastKey: {} },
    ]);
    expect(starts).toEqual([{ Key: JSON.stringify(next) }]);
    const unread = { Key: '{"Id":{"S":"b"}}' };
    expect(pagesWith(keys)?.reducer.result({ Books: ['a'], LastKey: next }, unread)).toEqual({
      Books: ['a'],
      LastKey: { Id: { S: 'b' } },
    });
  });

  test('at any depth', () => {
    const paths = { inputToken: 'Marker', outputToken: 'All.Next', items: 'All.Books' };
    const result = joined(paths, [{ All: { Books: ['a'], Next: 'm' } }, { All: { Books: ['b'] } }]);
    expect(result).toEqual({ record: { All: { Books: ['a', 'b'] } }, starts: [{ Marker: 'm' }] });
  });

  test('with two starts, of which one may be missing', () => {
    const two = { inputToken: ['Marker', 'IdMarker'], outputToken: ['NextMarker', 'NextId'] };
    const { starts } = joined(two, [{ NextMarker: 'a', NextId: 'b' }, { NextMarker: 'c' }, {}]);
    expect(starts).toEqual([{ Marker: 'a', IdMarker: 'b' }, { Marker: 'c' }]);
  });

  test('until a limit, after which the answer has the starts of the first unread page', () => {
    const two = { inputToken: ['Marker', 'IdMarker'], outputToken: ['All.Next', 'NextId'], items: 'All.Books' };
    const pages = pagesWith(two);
    const read = { All: { Books: ['a'], Next: 'm1' }, NextId: 'i1' };
    const record = pages?.reducer.result(read, { Marker: 'm2' });
    expect(record).toEqual({ All: { Books: ['a'], Next: 'm2' } });
    expect(pages?.reducer.result(read)).toEqual({ All: { Books: ['a'] } });
  });

  test('as long as the answer says that more follow', () => {
    const more = { ...books, moreResults: 'More' };
    expect(joined(more, [{ NextMarker: 'm', More: false }]).starts).toEqual([]);
    expect(joined(more, [{ NextMarker: 'm', More: true }]).starts).toEqual([{ Marker: 'm' }]);
    expect(joined(more, [{ More: true }]).doubt).toBe('page 1 says that more follow, but not where');
  });
});

test.each([
  [books, { Books: ['a', 'b'], Others: ['c'] }, 2],
  [{ ...books, items: undefined }, { Books: ['a', 'b'], Others: ['c'], Name: 'n' }, 3],
  [books, {}, 0],
])('entries are counted for progress: %j', (paginated, record, count) => {
  expect(pagesWith(paginated)?.reducer.count(record)).toBe(count);
});
