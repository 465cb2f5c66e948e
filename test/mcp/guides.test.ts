import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectInProcess, eras } from '../support/in-process.js';
import { offeredBy, openPolicy } from '../support/operations.js';
import { addUpload } from '../support/sandbox.js';

/** Resources, instructions and progress, in both protocol eras. */

describe.each(eras)('%s', (_name, era) => {
  let session: Awaited<ReturnType<typeof connectInProcess>>;
  beforeAll(async () => {
    session = await connectInProcess(era);
  });
  afterAll(() => session.close());

  const read = async (uri: string) => {
    const [content] = (await session.client.readResource({ uri })).contents;
    return content !== undefined && 'text' in content ? content.text : '';
  };

  test('every listed resource can be read', async () => {
    const { resources } = await session.client.listResources();
    const references = offeredBy(openPolicy).map(({ name }) => name);
    expect(resources.map(({ uri }) => uri).sort()).toEqual(
      [
        'cloudops://configuration',
        'cloudops://journal',
        ...references.map((name) => `cloudops://reference/${name}`),
        'skill://cloudops/SKILL.md',
      ].sort(),
    );
    for (const { uri } of resources) expect(await read(uri), uri).toMatch(/^# /m);
  });

  test('the reference of an operation has its rules, defaults and what is not documented', async () => {
    const text = await read('cloudops://reference/restore_instance');
    expect(text).toContain('| `instanceId` | text | Required, ');
    expect(text).toMatch(/^\| `availabilityZone` .*\| by region: east-11 in jp-east-1/m);
    expect(text).toMatch(/## Not documented by the API\n\n- Which arguments are required/);
  });

  test.each(['cloudops://reference/drop_everything', 'file:///etc/passwd', 'ui://cloudops/constructor', 'x'])(
    'an unknown resource is an error that names the known ones: %s',
    async (uri) => {
      await expect(session.client.readResource({ uri })).rejects.toThrow(/cloudops:\/\/reference\/list_parts/);
    },
  );

  test('a resource is found however its address is spelt', async () => {
    expect(await read('CLOUDOPS://configuration')).toBe(await read('cloudops://configuration'));
  });

  test('there are no prompts and no completions', async () => {
    for (const name of ['prompts', 'completions'])
      expect(session.client.getServerCapabilities()).not.toHaveProperty(name);
  });

  test.each([
    ['one page, which comes with the answer', 1000, []],
    ['three pages', 2500, ['1 page read, 1000 entries', '2 pages read, 2000 entries']],
  ])('pages that others follow are reported where the client asks for progress: %s', async (_what, count, reported) => {
    const parts = Array.from({ length: count }, (_, index) => ({
      partNumber: index + 1,
      size: 8,
      etag: 'e',
      lastModified: '1970-01-01T00:00:00.000Z',
    }));
    const uploadId = `progress-${count}`;
    addUpload(session.sandbox, { bucket: 'b', key: 'k', uploadId }, parts);
    const seen: unknown[] = [];
    const result = await session.client.callTool(
      { name: 'list_parts', arguments: { bucket: 'b', object: 'k', uploadId } },
      { onprogress: ({ message }) => seen.push(message) },
    );
    expect(result.structuredContent).toMatchObject({ answer: { partCount: count } });
    expect(seen).toEqual(reported);
  });
});

test('a read-only server offers only what reads, changes included', async () => {
  const { client, close } = await connectInProcess('legacy', { readOnly: true, tools: undefined });
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
    ...offeredBy({ ...openPolicy, readOnly: true }).map(({ name }) => name),
    'get_change',
  ]);
  const args = { backupId: 'a'.repeat(32), instanceId: 'one' };
  const refused = await client.callTool({ name: 'restore_instance', arguments: args });
  expect(refused).toMatchObject({ isError: true, structuredContent: { code: 'NotAllowed', mayHaveHappened: false } });
  await close();
});
