import { expect, test } from 'vitest';
import { storePlace } from '../../src/changes/store-place.js';

/** The place of a journal, without what people may not read. */

test.each([
  ['postgres://u:MARKER@db.example.com:5432/cloudops?sslmode=require', 'postgres://db.example.com:5432/cloudops'],
  ['postgresql://u@db.example.com/cloudops', 'postgres://db.example.com/cloudops'],
  ['POSTGRES://db.example.com/cloudops?password=MARKER', 'postgres://db.example.com/cloudops'],
  ['postgres:///cloudops?host=/run/postgresql', 'postgres:///run/postgresql/cloudops'],
  ['postgres:///cloudops', 'postgres:///cloudops'],
  ['postgres://db.example.com', 'postgres://db.example.com'],
  ['not-postgres://u:MARKER@host/d', 'a database'],
  ['postgres://u:MARKER@host:port/d', 'a database'],
  // A password with a character that was not encoded: what comes before it would be the port, the rest a path.
  ['postgres://u:/MARKER@db.example.com/cloudops', 'a database'],
  ['postgres://u:12/MARKER@db.example.com/cloudops', 'a database'],
  ['postgres://u:12?MARKER@db.example.com/cloudops', 'a database'],
  ['postgres://u:12#MARKER@db.example.com/cloudops', 'a database'],
  ['postgres://u:p@MARKER@db.example.com/cloudops', 'postgres://db.example.com/cloudops'],
  ['postgres:///cloudops?host=/run/postgresql&password=MARKER%40', 'postgres:///run/postgresql/cloudops'],
  ['mysql://u:MARKER@host/d', 'a database'],
])('%s', (url, name) => {
  const place = storePlace(url);
  expect(place).toMatchObject({ name, path: undefined });
  expect(place.problem === undefined).toBe(name !== 'a database');
  expect(`${place.name} ${place.problem}`).not.toContain('MARKER');
});

test.each([
  ['sslmode=verify-full&sslrootcert=/run/ca.pem', true],
  ['application_name=ops', true],
  ['sslMode=verify-full', false],
  ['ssl_mode=verify-full', false],
  ['tls=true', false],
  ['sslmode=', false],
])('with %s, which would be ignored if it were misspelt, an address is usable: %s', (parameters, usable) => {
  const url = `postgres://u@db.example.com/cloudops?${parameters}`;
  expect(storePlace(url).problem === undefined).toBe(usable);
});

test('a problem says what an address may be', () => {
  expect(storePlace('postgres://u:p/w@db.example.com/d').problem?.text).toContain('%2F');
  expect(storePlace('postgres://db.example.com/d?tls=true').problem?.text).toContain('sslmode');
});

test.each(['/var/lib/journal', 'journal.jsonl', './a:b'])('%s is a file', (path) => {
  expect(storePlace(path)).toMatchObject({ name: path, path });
});

test.each([
  'postgres://u@h1,h2/db',
  'postgres://u:p@h1:5432,h2:5432/db',
  'postgres:///db?host=h1,h2',
  'postgres:///db?host=h1%2Ch2',
])('%s: several hosts are one problem of their own, and not quoted', (address) => {
  expect(storePlace(address).problem?.text).toMatch(/several hosts/);
  expect(storePlace('postgres://u,v@h/db?sslcert=a,b').problem).toBeUndefined();
});

test.each([
  'host=db password=MARKER',
  'hostaddr=10.0.0.1 port = 5432',
  'hostname=db',
  'name=x;Server=db;Uid=u;Pwd=MARKER',
  'Data Source=db',
  "'port=5432'",
  '"dbname=cloudops"',
  'db=cloudops',
  'database=cloudops',
  'user=u',
  'x;user id=u',
  'x userid=u',
  'username=u',
  'pass=MARKER',
  'passfile=/run/pass',
  'password =MARKER',
  'service=cloudops',
  'sslmode=require',
  '"postgres://u:MARKER@db/cloudops"',
  'see h2:/db',
  '/at/postgres://db',
  'p://u:MARKER@db/cloudops',
])('%s is no path, but looks like a database, so that no file gets its name', (text) => {
  const place = storePlace(text);
  expect(place).toMatchObject({ name: 'a database', path: undefined });
  expect(place.problem).toBeDefined();
});

test.each(['/var/lib/export=1', 'superuser=1.jsonl', 'C:/journal', './c://journal', 'my-host', 'x.host =1'])(
  '%s does not look like one',
  (path) => {
    expect(storePlace(path)).toMatchObject({ path, problem: undefined });
  },
);

test.each([
  '\u0024{HOME}/journal.db',
  '$HOME/journal.db',
  '%APPDATA%\\journal.db',
  '/x/\u0024{workspaceFolder}/y',
  '\u0024{env:HOME}/x',
])('%s has a placeholder that nothing replaces', (path) => {
  expect(storePlace(path).problem?.text).toMatch(/placeholder/);
});

test.each(['~/journal.db', '/var/100%/journal.db', 'C:\\Users\\a$\\journal.db'])('%s has none', (path) => {
  expect(storePlace(path)).toMatchObject({ path, problem: undefined });
});
