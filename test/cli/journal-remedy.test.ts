import { expect, test } from 'vitest';
import { journalRemedy } from '../../src/cli/journal-remedy.js';

/** The advice about a database depends on the code of the error, which is of PostgreSQL or of Node.js. */

test.each([
  ['EPIPE', /^Check that the database runs/],
  ['EPERM', /^Check that the database runs/],
  ['ECONNREFUSED', /^Check that the database runs/],
  ['08006', /^Check that the database runs/],
  ['28P01', /^Check the user and the password/],
  ['57014', /^Something holds a lock on the tables, or the database is slow/],
  ['57P03', /^The database is starting or going down/],
  ['XX000', /^See the log of the database/],
])('%s', (code, remedy) => {
  expect(journalRemedy(Object.assign(new Error('x'), { code }), true).text).toMatch(remedy);
});
