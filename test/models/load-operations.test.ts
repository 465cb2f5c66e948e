import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, describe, expect, test } from 'vitest';
import { loadOperationFiles } from '../../src/cli/load-operation-files.js';
import { allOperations } from '../../src/config/own-operations.js';
import { operations as builtIn } from '../../src/tools/index.js';
import { changeThing, getThing, thingsFile, thingsModel } from '../support/things.js';
import { http, smallModelJson } from './small-model.js';

const folder = mkdtempSync(join(tmpdir(), 'cloudops-operations-'));
afterAll(() => rmSync(folder, { recursive: true }));

let count = 0;
/** A folder of its own for each test, because all files of a folder are loaded together. */
function emptyFolder(): string {
  count += 1;
  return join(folder, String(count));
}

function written(name: string, text: string): string {
  const path = join(folder, name);
  writeFileSync(path, text, { flag: 'wx' });
  return path;
}

/** Loads a file or folder. Returns the problems without the name of the setting. */
async function load(path: string) {
  const { operations, notes = [], problems } = await loadOperationFiles(path);
  const texts = (all: typeof problems) => all.map(({ text }) => text.replace('CLOUDOPS_OPERATIONS: ', ''));
  return { names: operations.map(({ name }) => name), operations, notes: texts(notes), problems: texts(problems) };
}

const loadThings = (operations?: object, settings?: object) =>
  load(thingsFile(emptyFolder(), 'things', operations, settings));

const extendRestore = (follow: object) => ({ extend: { restore_instance: { follow } } });
const followThing = { read: 'GetThing', arguments: { id: 'input.instanceId' } };

describe('a file', () => {
  test('adds its operations, with the schema that hosts are shown', async () => {
    const { operations, problems } = await loadThings();
    expect(problems).toEqual([]);
    expect(operations).toMatchObject([
      { name: 'get_thing', schemas: { input: { required: ['id'], additionalProperties: false } } },
    ]);
  });

  test('has a note on a deletion that is declared as another change, unless it insists', async () => {
    const deletion = { effect: 'alter', costsMoney: false };
    expect((await loadThings({ DeleteThing: deletion })).notes).toEqual([
      'DeleteThing looks like a deletion, but is declared as alter, so nobody types a name to confirm it. effectIsSure: true says that this is right.',
    ]);
    expect((await loadThings({ DeleteThing: { ...deletion, effectIsSure: true } })).notes).toEqual([]);
  });

  test('may attach a read to a built-in change', async () => {
    const own = await loadOperationFiles(thingsFile(emptyFolder(), 'things', getThing, extendRestore(followThing)));
    expect(own.problems).toEqual([]);
    const extended = allOperations(builtIn, own).filter((operation) => operation.follow !== undefined);
    expect(extended).toMatchObject([{ name: 'restore_instance', follow: followThing }]);
  });

  test('needs no model if it only attaches a read to a built-in change', async () => {
    const both = emptyFolder();
    thingsFile(both, 'things');
    writeFileSync(join(both, 'extend.operations.json'), JSON.stringify(extendRestore(followThing)));
    expect(await load(both)).toMatchObject({ names: ['get_thing'], problems: [] });
  });

  test.each<[what: string, operations: object, settings: object, problem: RegExp]>([
    [
      'a field that there is not',
      getThing,
      { operation: {} },
      /^things\.operations\.json: operation is not a field; did you mean operations\?$/,
    ],
    [
      'an extension of a read',
      getThing,
      { extend: { list_parts: { follow: followThing } } },
      /extend: may have only the built-in changes \w+, /,
    ],
    [
      'an extension by another field',
      getThing,
      { extend: { restore_instance: { folder: {} } } },
      /folder is not a field/,
    ],
    ['a model that is no path', getThing, { model: 3 }, /model: must be the path of a model, relative to this file\.$/],
    ['an API that every object has', getThing, { api: 'constructor' }, /api: must be the name of the API/],
    ['a region that is none', getThing, { region: 'a/b' }, /region: must be the name of a region/],
    ['a tool that every object has', { GetThing: { effect: 'read', name: 'constructor' } }, {}, /name: is taken/],
    ['a tool that is built in', { GetThing: { effect: 'read', name: 'list_parts' } }, {}, /list_parts: name: is taken/],
    ['a tool of the server', { GetThing: { effect: 'read', name: 'get_change' } }, {}, /get_change: name: is taken/],
    [
      'a tool that hosts do not take',
      { GetThing: { effect: 'read', name: 'Get thing' } },
      {},
      /"Get thing": name: must be lowercase letters/,
    ],
    [
      'a name that is too long',
      getThing,
      { prefix: `a${'_long'.repeat(5)}`, operations: { GetThing: { effect: 'read', name: 'a'.repeat(65) } } },
      /name/,
    ],
    ['a read that is named like a change', { ChangeThing: { effect: 'read' } }, {}, /effect: /],
    [
      'a read by DELETE',
      { DeleteThing: { effect: 'read', effectIsSure: true } },
      {},
      /effect: must not be read, because its method is DELETE/,
    ],
  ])('is refused with %s', async (_what, operations, settings, problem) => {
    const { names, problems } = await loadThings(operations, settings);
    expect(problems.join('\n')).toMatch(problem);
    expect(problems.length > 0 ? names : []).toEqual([]);
  });

  test.each<[what: string, tool: string, follow: object, problem: string]>([
    [
      'a read',
      'restore_instance',
      { read: 'get_thin', arguments: {} },
      'follow.read: get_thin is not a read; did you mean get_thing?',
    ],
    [
      'an argument of the read',
      'change_thing',
      { read: 'get_thing', arguments: { ids: 'input.id' } },
      'follow.arguments: ids is not an argument of get_thing; did you mean id?',
    ],
    [
      'an argument of the change',
      'restore_instance',
      { read: 'GetThing', arguments: { id: 'input.instanceIdd' } },
      'follow.arguments: instanceIdd is not an argument of restore_instance; did you mean instanceId?',
    ],
  ])('is refused if follow names %s that does not exist', async (_what, tool, follow, problem) => {
    const both = emptyFolder();
    // The read is in a later file.
    thingsFile(both, 'b');
    if (tool === 'change_thing') thingsFile(both, 'a', changeThing({ follow }));
    else writeFileSync(join(both, 'a.operations.json'), JSON.stringify(extendRestore(follow)));
    const { names, problems } = await load(both);
    expect(problems).toEqual([`a.operations.json: ${tool}: ${problem}`]);
    expect(names).toEqual([]);
  });

  test('may follow a read by a name that the API of an earlier file has as well', async () => {
    const all = emptyFolder();
    thingsFile(all, 'a', getThing, { api: 'other', prefix: 'other' });
    thingsFile(all, 'b', getThing, { prefix: 'own' });
    thingsFile(all, 'c', changeThing({ follow: { read: 'GetThing', arguments: { id: 'input.id' } } }));
    expect((await load(all)).problems).toEqual([]);
  });

  test('is refused if it has the name of an operation of an earlier file, or of a built-in change that one extends', async () => {
    const both = emptyFolder();
    const restore = { GetThing: { effect: 'read', name: 'restore_instance' } };
    thingsFile(both, 'a', getThing, extendRestore(followThing));
    thingsFile(both, 'b', { ...restore });
    thingsFile(both, 'c');
    expect((await load(both)).problems).toEqual([
      'b.operations.json: restore_instance: name: is taken by another operation in a.operations.json. Choose another name, or a prefix.',
      'c.operations.json: get_thing: name: is taken by another operation in a.operations.json. Choose another name, or a prefix.',
    ]);
  });

  test('is refused if its API is that of an earlier file, and is signed otherwise', async () => {
    const both = emptyFolder();
    thingsFile(both, 'a');
    thingsFile(both, 'b', getThing, { prefix: 'global', region: 'jp-east-1' });
    expect((await load(both)).problems).toEqual([
      'b.operations.json: global_get_thing: api: its requests must be signed like those of get_thing, which has the same api.',
    ]);
  });

  test('is refused if it attaches a read to a change that has one of an earlier file', async () => {
    const both = emptyFolder();
    for (const name of ['a', 'b']) thingsFile(both, name, getThing, { prefix: name, ...extendRestore(followThing) });
    expect((await load(both)).problems).toEqual([
      'b.operations.json: extend: restore_instance is already extended by another file.',
    ]);
  });

  test.each<[what: string, text: string, problem: string]>([
    ['no.operations.json', '{"model": ', 'it is not JSON: "Unexpected end of JSON input".'],
    [
      'two.operations.json',
      '{"models": [], "api": "things"}',
      'models: must have all settings of models, so none may stand beside it.',
    ],
    ['models.operations.json', '{"models": {}}', 'models: must be a list of models with their settings.'],
    ['list.operations.json', '[]', 'it must be an object with the path of a model.'],
    ['empty.operations.json', '{}', 'model: is missing.'],
    [
      'code.mjs',
      'process.exit(7);',
      'only JSON files are read, with the path of a model and its settings: see docs/OPERATIONS.md.',
    ],
    [
      'code.ts',
      'process.exit(7);',
      'only JSON files are read, with the path of a model and its settings: see docs/OPERATIONS.md.',
    ],
  ])('%s is refused, and no code of it runs', async (name, text, problem) => {
    expect((await load(written(name, text))).problems).toEqual([`${name}: ${problem}`]);
  });

  test('has the operations of several models, each with its own API and prefix', async () => {
    const path = thingsFile(emptyFolder(), 'several');
    const things = { model: './things-model.json', operations: getThing };
    const models = [
      { ...things, api: 'things', prefix: 'own' },
      { ...things, api: 'others', prefix: 'other' },
    ];
    writeFileSync(path, JSON.stringify({ models }));
    const { operations } = await load(path);
    expect(operations).toMatchObject([
      { name: 'own_get_thing', service: 'things' },
      { name: 'other_get_thing', service: 'others' },
    ]);
    writeFileSync(
      path,
      JSON.stringify({ models: [models[0], { ...models[1], prefix: 'own' }, { ...things, api: 'a/b' }] }),
    );
    expect((await load(path)).problems).toEqual([
      'several.operations.json: models[1]: own_get_thing: name: is taken by another operation in several.operations.json. Choose another name, or a prefix.',
      expect.stringMatching(/^several\.operations\.json: models\[2\]: api: must be the name of the API/),
    ]);
  });

  test('has any number of operations', async () => {
    const names = Array.from({ length: 1000 }, (_, index) => `GetThing${index}`);
    const model = smallModelJson(Object.fromEntries(names.map((name) => [name, { traits: http('GET', `/${name}`) }])));
    written('many-model.json', JSON.stringify(model));
    const operations = Object.fromEntries(names.map((name) => [name, { effect: 'read' }]));
    const { problems, ...loaded } = await load(
      written('many.operations.json', JSON.stringify({ model: './many-model.json', api: 'many', operations })),
    );
    expect(problems).toEqual([]);
    expect(loaded.names).toHaveLength(1000);
  });

  describe('may have a compressed model', () => {
    const loadCompressed = (name: string, content: Buffer) => {
      writeFileSync(join(folder, `${name}-model.json.gz`), content);
      const file = { model: `./${name}-model.json.gz`, api: 'things', operations: getThing };
      return load(written(`${name}.operations.json`, JSON.stringify(file)));
    };

    test('which is read like any other', async () => {
      const { names, problems } = await loadCompressed('small', gzipSync(JSON.stringify(thingsModel)));
      expect({ names, problems }).toEqual({ names: ['get_thing'], problems: [] });
    });

    test.each([
      ['text', Buffer.from('{}'), 'it is not compressed by gzip'],
      ['bomb', gzipSync(Buffer.alloc(25_000_001)), 'it has more than 25 MB'],
    ])('but not %s', async (name, content, problem) => {
      const { problems } = await loadCompressed(name, content);
      expect(problems).toEqual([`${name}.operations.json: the model "./${name}-model.json.gz": ${problem}.`]);
    });
  });

  test('of more than 5 MB is refused before it is read', async () => {
    const path = written('large.operations.json', JSON.stringify({ model: 'a'.repeat(5_000_000) }));
    expect((await load(path)).problems).toEqual(['large.operations.json: it has more than 5 MB.']);
  });

  test('that is not there is a problem', async () => {
    const { problems } = await load(join(folder, 'none.json'));
    expect(problems).toEqual([
      expect.stringMatching(/^".*none\.json" cannot be read \(ENOENT: there is no such file\)\.$/),
    ]);
  });
});

describe('a folder', () => {
  test('adds the operations of its files, in the order of their names', async () => {
    const several = emptyFolder();
    thingsFile(several, 'b', getThing, { prefix: 'second' });
    thingsFile(several, 'a', getThing, { prefix: 'first' });
    writeFileSync(join(several, 'README.md'), 'no operations');
    const { names, problems } = await load(several);
    expect(problems).toEqual([]);
    expect(names).toEqual(['first_get_thing', 'second_get_thing']);
  });

  test('without files of operations is a problem', async () => {
    const empty = mkdtempSync(join(folder, 'empty-'));
    expect((await load(empty)).problems).toEqual([expect.stringMatching(/ has no \.operations\.json files\.$/)]);
  });
});
