import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { http, member, smallModelJson } from '../models/small-model.js';

const id = { id: member('String', { required: {}, httpLabel: {} }) };

/** A small API of things, for tests of files of operations. */
export const thingsModel = smallModelJson({
  GetThing: { input: id, output: { name: 'String' }, traits: http('GET', '/things/{id}') },
  ChangeThing: { input: { ...id, name: 'String' }, traits: http('PUT', '/things/{id}') },
  DeleteThing: { input: id, traits: http('DELETE', '/things/{id}') },
});

export const getThing = { GetThing: { effect: 'read' } };
const change = { effect: 'alter', costsMoney: false, continues: false };
/** A change of a thing, with further settings. */
export const changeThing = (settings: object = {}) => ({ ChangeThing: { ...change, ...settings } });

/**
 * Writes a file with operations of things, and its model. Returns the path of the file.
 * @param settings replace the settings of the file
 */
export function thingsFile(folder: string, name: string, operations: object = getThing, settings: object = {}): string {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'things-model.json'), JSON.stringify(thingsModel));
  const path = join(folder, `${name}.operations.json`);
  // Fails if two tests give their files the same name.
  writeFileSync(path, JSON.stringify({ model: './things-model.json', api: 'things', operations, ...settings }), {
    flag: 'wx',
  });
  return path;
}
