import { expect, test } from 'vitest';
import { createQuestionQueue, type QuestionQueue } from '../../src/changes/change-context.js';

/** Work that says when it begins, and ends when the test wants it. */
function work(name: string, begun: string[]) {
  let end = (_result: string | Error) => {};
  const ended = new Promise<string>((resolve, reject) => {
    end = (result) => (result instanceof Error ? reject(result) : resolve(result));
  });
  const start = () => {
    begun.push(name);
    return ended;
  };
  return { start, end: (result: string | Error) => end(result) };
}

/** Does work in a turn of a caller. */
const takerOf =
  ({ enter }: QuestionQueue) =>
  async <Result>(caller: string | undefined, start: () => Promise<Result>): Promise<Result> => {
    using _turn = await enter(caller);
    return await start();
  };

const settled = () => new Promise(setImmediate);

test('work of one caller is done in order, whether what came before went well or not', async () => {
  const take = takerOf(createQuestionQueue());
  const begun: string[] = [];
  const [one, two, three] = [work('one', begun), work('two', begun), work('three', begun)];
  const results = Promise.allSettled([one, two, three].map(({ start }) => take('alice', start)));
  await settled();
  expect(begun).toEqual(['one']);
  one.end(new Error('refused'));
  await settled();
  expect(begun).toEqual(['one', 'two']);
  two.end('two');
  three.end('three');
  expect(await results).toMatchObject([{ status: 'rejected' }, { value: 'two' }, { value: 'three' }]);
});

test('work that comes when one is done waits for those before it all the same', async () => {
  const take = takerOf(createQuestionQueue());
  const begun: string[] = [];
  const [one, two, three] = [work('one', begun), work('two', begun), work('three', begun)];
  const results = [take('alice', one.start), take('alice', two.start)];
  one.end('1');
  await settled();
  results.push(take('alice', three.start));
  await settled();
  expect(begun).toEqual(['one', 'two']);
  two.end('2');
  three.end('3');
  expect(await Promise.all(results)).toEqual(['1', '2', '3']);
});

test.each([
  ['alice', 'bob'],
  ['alice', undefined],
])('work of %s and %s is done at once', async (one, other) => {
  const queue = createQuestionQueue();
  const { callers } = queue;
  const take = takerOf(queue);
  const begun: string[] = [];
  const [first, second] = [work('first', begun), work('second', begun)];
  const results = [take(one, first.start), take(other, second.start)];
  await settled();
  expect([begun, callers()]).toEqual([['first', 'second'], 2]);
  first.end('1');
  second.end('2');
  expect([await Promise.all(results), callers()]).toEqual([['1', '2'], 0]);
});

test('work that comes after all is done begins at once', async () => {
  const take = takerOf(createQuestionQueue());
  expect(await take('alice', async () => 1)).toBe(1);
  expect(await take('alice', async () => 2)).toBe(2);
});
