import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { thingOf } from '../../src/changes/change-state.js';
import { nameToType } from '../../src/changes/typed-name.js';
import { loadOperationFiles } from '../../src/cli/load-operation-files.js';
import { exampleArguments } from '../../src/models/example-arguments.js';
import type { Member, Shape } from '../../src/models/model.js';
import { exampleOf, type Operation } from '../../src/tools/define-operation.js';
import { quote } from '../../src/util/quote.js';
import { never, testCaller } from '../support/caller.js';
import { type CapturingServer, startServer } from '../support/http-server.js';
import { http, member, smallModelJson } from './small-model.js';

/** Files of operations that name a model, loaded and called. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-models-'));
let cloud: CapturingServer;
let answer = '{}';
let status = 200;
let headers = {};
beforeAll(async () => {
  cloud = await startServer((_request, response) => response.writeHead(status, headers).end(answer));
});
afterAll(async () => {
  rmSync(folder, { recursive: true });
  await cloud.close();
});

const model = smallModelJson(
  {
    ListUsers: {
      output: { Users: 'small#Users' },
      traits: { ...http('GET', '/users'), 'smithy.api#documentation': '<p>Lists users.</p>' },
    },
    CreateUser: {
      input: {
        TeamId: member('String', { required: {}, httpLabel: {} }),
        UserName: member('String', { required: {}, jsonName: 'userName' }),
        InitialPassword: member('String', { jsonName: 'initialPassword' }),
        Contacts: 'small#Users',
        ClientToken: member('String', { idempotencyToken: {} }),
      },
      traits: http('POST', '/teams/{TeamId}/users'),
    },
    ListParts: { traits: http('GET', '/parts') },
    Watch: { output: { Events: member('small#Events', { httpPayload: {} }) }, traits: http('GET', '/events') },
  },
  {
    'small#Users': { type: 'list', member: { target: 'small#User' } },
    'small#User': {
      type: 'structure',
      members: { Name: { target: 'smithy.api#String' }, ApiToken: { target: 'smithy.api#String' } },
    },
    'small#Events': { type: 'union', members: {}, traits: { 'smithy.api#streaming': {} } },
  },
);
writeFileSync(join(folder, 'model.json'), JSON.stringify(model));

const create = { effect: 'create', costsMoney: false, consequences: ['They can sign in at once.'] };
const settings = { api: 'people', prefix: 'people', operations: { ListUsers: { effect: 'read' }, CreateUser: create } };

let count = 0;
/** Loads a file of JSON with these settings. The model is a path, or is written first. */
async function load(all: object) {
  const { model: modelOrPath = model, ...given }: { readonly model?: unknown } = all;
  count += 1;
  const path = join(folder, `file-${count}.json`);
  const isPath = typeof modelOrPath === 'string';
  if (!isPath) writeFileSync(join(folder, `model-${count}.json`), JSON.stringify(modelOrPath));
  writeFileSync(path, JSON.stringify({ model: isPath ? modelOrPath : `./model-${count}.json`, ...given }));
  const { operations, problems } = await loadOperationFiles(path);
  return { operations, problems: problems.map(({ text }) => text.replace(/^.*?file-\d+\.json: /, '')) };
}

async function named(name: string, given: object = settings): Promise<Operation> {
  const { operations, problems } = await load(given);
  const found = operations.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(problems.join('\n'));
  return found;
}

const caller = (confirm: 'off' | 'ask' | 'plan' = 'off') =>
  testCaller('', { cloud: { endpoints: { people: cloud.origin } }, confirm });

describe('operations of a model', () => {
  test('have the facts of the model and of the file', async () => {
    const { operations, problems } = await load(settings);
    expect(problems).toEqual([]);
    expect(operations).toMatchObject([
      { name: 'people_list_users', title: 'List users', description: 'Lists users.', method: 'GET' },
      {
        name: 'people_create_user',
        effect: 'create',
        service: 'people',
        signing: { service: 'small', variant: 'api' },
        method: 'POST',
        takesToken: true,
        secrets: ['InitialPassword', 'Contacts[].ApiToken'],
        change: { costsMoney: false, continues: true, named: ['TeamId', 'UserName'] },
      },
    ]);
    expect(operations.map(({ schemas }) => schemas?.output)).toEqual([undefined, undefined]);
    expect(Object(operations[1]?.schemas?.input.properties)).not.toHaveProperty('ClientToken');
  });

  test('show each argument in the plan, except secrets', async () => {
    const { call, close } = caller();
    const secret = 'hunter2-hunter2';
    const args = {
      TeamId: 'blue/green',
      userName: 'ada',
      initialPassword: secret,
      Contacts: [{ Name: 'Bo', ApiToken: 'token-of-bo' }],
      planOnly: true,
    };
    const { text } = await call(await named('people_create_user'), args, { signal: never });
    await close();
    for (const shown of [
      'Create user "ada" in people, team "blue/green".',
      'They can sign in at once.',
      '/teams/blue%2Fgreen/users',
      '"userName": "ada"',
      '"Name": "Bo"',
    ])
      expect(text).toContain(shown);
    expect(text).not.toContain(secret);
    expect(text).not.toContain('token-of-bo');
    expect(text).toContain('"ClientToken": "added-when-sent"');
  });

  test.each([
    [true, 'It costs money.'],
    [false, undefined],
    [undefined, 'It may cost money.'],
  ])('of which costsMoney is %s say so in the plan: %s', async (costsMoney, told) => {
    const change = { effect: 'create', ...(costsMoney !== undefined && { costsMoney }) };
    const operation = await named('people_create_user', { ...settings, operations: { CreateUser: change } });
    const { call, close } = caller();
    const { text } = await call(operation, { TeamId: 'a', UserName: 'b', planOnly: true }, { signal: never });
    await close();
    expect(/It .*cost.*money\./.exec(text)?.[0]).toBe(told);
  });

  test('answer with exact texts, which are spelled out in the text of the result', async () => {
    const { call, close } = caller();
    const text = 'nb\u00a0sp\n\u202e"\u0001';
    answer = JSON.stringify({ Users: [{ Name: text }] });
    const result = await call(await named('people_list_users'), {}, { signal: never });
    await close();
    expect(result).toMatchObject({ structured: { answer: { Users: [{ Name: text }] } } });
    expect(result.text).toContain(`Name: ${quote(text)}`);
  });

  test('answer with counts and names but no secrets', async () => {
    const { call, close } = caller();
    answer = '{"Users":[{"Name":"ada","ApiToken":"abcdefgh"},{"Name":"bo"}]}';
    const list = await call(await named('people_list_users'), {}, { signal: never });
    expect(list.text).toMatch(/^ListUsers succeeded: 2 in Users: "ada", "bo"\./);
    expect(list.text).not.toContain('abcdefgh');
    const created = await call(await named('people_create_user'), { TeamId: 'a', userName: 'b' }, { signal: never });
    await close();
    expect(created.text).toContain('outcome: accepted');
    expect(JSON.parse(cloud.requests.at(-1)?.body ?? '')).toMatchObject({ userName: 'b' });
  });

  test.each(['{"cut', 'text', '[]'])('do not fail if a change is answered with %j', async (body) => {
    const { call, close } = caller();
    answer = body;
    const { text } = await call(await named('people_create_user'), { TeamId: 'a', userName: body }, { signal: never });
    await close();
    expect(text).toContain('outcome: accepted');
  });

  test('check arguments before anything is sent', async () => {
    const { call, close } = caller();
    const result = await call(await named('people_create_user'), { TeamId: '..', username: 'a' }, { signal: never });
    await close();
    expect(result).toMatchObject({
      failure: {
        code: 'InvalidArguments',
        problems: expect.arrayContaining([
          expect.stringMatching(/^TeamId: ".." must not be empty, or have/),
          'UserName: is required',
          'username: is not an argument; did you mean UserName?',
        ]),
      },
    });
  });
});

describe('a read that is named like a change', () => {
  const deletion = smallModelJson({
    DeleteUsers: { traits: http('POST', '/delete') },
    CreateSession: { traits: { ...http('GET', '/session'), 'smithy.api#readonly': {} } },
  });
  const file = (name: string, given: object) => ({
    ...settings,
    model: deletion,
    operations: { [name]: given },
  });

  test('is refused, unless the file insists on it or the model marks it as a read', async () => {
    expect((await load(file('DeleteUsers', { effect: 'read' }))).problems).toEqual([
      'people_delete_users: effect: is read, but DeleteUsers is named like a change (delete). effectIsSure: true says that this is right.',
    ]);
    expect((await load(file('DeleteUsers', { effect: 'read', effectIsSure: true }))).problems).toEqual([]);
    expect((await load(file('CreateSession', { effect: 'read' }))).problems).toEqual([]);
  });
});

describe.each(['restXml', 'awsQuery', 'ec2Query'])('an answer of %s', (protocol) => {
  const names = { 'small#Names': { type: 'list', member: { target: 'smithy.api#String' } } };
  const operations = {
    ListKeys: { output: { Keys: 'small#Names' }, traits: http('GET', '/keys') },
    DeleteKeys: { output: { Errors: 'small#Names' }, traits: http('POST', '/keys') },
  };
  const change = { effect: 'delete', costsMoney: false, failures: 'Errors' };
  const given = {
    ...settings,
    model: smallModelJson(operations, names, protocol),
    operations: { ListKeys: { effect: 'read' }, DeleteKeys: change },
  };
  /** The body for a list of keys. The query protocols have an element for the result. */
  const listOf = (keys: string) =>
    protocol === 'awsQuery' ? `<R><ListKeysResult>${keys}</ListKeysResult></R>` : `<R>${keys}</R>`;
  const one = listOf('<Keys><member>a</member></Keys>');

  test.each([
    ['a document', one, /^ListKeys succeeded: 1 in Keys: "a"/],
    ['a document with a document type', `<!DOCTYPE R>${one}`, /it looks like XML, but it has a document type/],
    ['a document that is cut', one.slice(0, -4), /it looks like XML, but it is cut short/],
    ['another document after it', `${one}${one}`, /it looks like XML, but/],
    ['JSON', '{"Keys":["a"]}', /it is JSON, not XML/],
  ])('that is %s', async (_what, body, told) => {
    answer = body;
    const { call, close } = caller();
    const { ok, text } = await call(await named('people_list_keys', given), {}, { signal: never });
    await close();
    expect(text).toMatch(told);
    expect(ok).toBe(body === one);
  });

  test('that is malformed leaves a change unknown if its failures cannot be read', async () => {
    answer = `<!DOCTYPE R>${one}`;
    const { call, close } = caller();
    const result = await call(await named('people_delete_keys', given), {}, { signal: never });
    await close();
    expect(result).toMatchObject({ failure: { code: 'UnreadableAnswer', mayHaveHappened: true } });
  });
});

describe('an answer of success to an operation of a model', () => {
  const operations = {
    ListKeys: {
      output: { Keys: 'small#Names', Marker: member('String', { httpHeader: 'x-marker' }) },
      traits: http('GET', '/keys'),
    },
    CreateKey: {
      input: { KeyId: 'String' },
      output: { Key: 'small#Key', Status: member('Integer', { httpResponseCode: {} }) },
      traits: http('POST', '/keys'),
    },
    ListThings: {
      output: { Things: 'small#Things', Code: 'Integer', On: 'Boolean', Bytes: 'Blob' },
      traits: http('GET', '/things'),
    },
    GetThing: {
      output: { At: member('Timestamp', { httpHeader: 'x-at' }), Body: member('Blob', { httpPayload: {} }) },
      traits: http('GET', '/thing'),
    },
    DeleteKey: { input: { KeyId: 'String' }, traits: http('POST', '/keys/delete') },
    SetKey: {
      input: { KeyId: 'String' },
      output: { Key: member('small#Key', { httpPayload: {} }) },
      traits: http('POST', '/keys/set'),
    },
  };
  const shapes = {
    'small#Names': { type: 'list', member: { target: 'smithy.api#String' } },
    'small#Things': { type: 'list', member: { target: 'small#Thing' } },
    'small#Thing': {
      type: 'structure',
      members: Object.fromEntries(
        Object.entries({
          Thing: 'String',
          At: 'Timestamp',
          Data: 'Blob',
          Size: 'Long',
          Name: 'String',
          Total: 'BigInteger',
        }).map(([name, type]) => [name, { target: `smithy.api#${type}` }]),
      ),
    },
    'small#Key': { type: 'structure', members: { KeyId: { target: 'smithy.api#String' } } },
  };
  const change = { effect: 'alter', costsMoney: false };
  const read = { effect: 'read' };
  const reads = { ListKeys: read, ListThings: read, GetThing: read };
  const names = {
    list: 'people_list_keys',
    things: 'people_list_things',
    get: 'people_get_thing',
    create: 'people_create_key',
    drop: 'people_delete_key',
    set: 'people_set_key',
  };
  const answered = async (protocol: string, name: keyof typeof names, body: string) => {
    const operation = await named(names[name], {
      ...settings,
      model: smallModelJson(operations, shapes, protocol),
      operations: { ...reads, CreateKey: change, DeleteKey: change, SetKey: change },
    });
    answer = body;
    const { call, close } = caller();
    const result = await call(operation, ['list', 'things', 'get'].includes(name) ? {} : { KeyId: `${count}` }, {
      signal: never,
    });
    await close();
    return result;
  };

  const errors = [
    ['{"code":"InternalError","message":"boom"}', true],
    ['{"__type":"InternalServerError"}', true],
    ['{"error":{"code":"AccessDenied"}}', false],
    ['{"errorCode":"AccessDenied"}', false],
    ['{"code":"Client.AuthFailure"}', false],
  ] as const;
  const protocols = ['restJson1', 'awsJson1_0', 'restXml', 'awsQuery'];
  test.each(errors.flatMap(([body, isUnknown]) => protocols.map((protocol) => ({ protocol, body, isUnknown }))))(
    'is an error if it has an error code and no expected field: $body ($protocol)',
    async ({ protocol, body, isUnknown }) => {
      expect(await answered(protocol, 'list', body)).toMatchObject({ ok: false, failure: { status: 200 } });
      for (const name of ['create', 'drop', 'set'] as const)
        expect(await answered(protocol, name, body), name).toMatchObject({
          failure: { status: 200, mayHaveHappened: isUnknown },
        });
    },
  );

  test.each([
    ['restJson1', '{"code":"x","Keys":["a"]}'],
    ['awsQuery', '<R><ListKeysResult><Keys><member>a</member></Keys></ListKeysResult></R>'],
  ])('is read if it has an expected field: %s %s', async (protocol, body) => {
    expect((await answered(protocol, 'list', body)).text).toMatch(/^ListKeys succeeded: 1 in Keys: "a"/);
  });

  test.each(['restXml', 'awsQuery', 'ec2Query'])('of %s that is another document is no answer', async (protocol) => {
    const body = '<SomethingElse><a>1</a></SomethingElse>';
    expect(await answered(protocol, 'list', body)).toMatchObject({ ok: false, failure: { code: 'UnreadableAnswer' } });
    const { ok, text } = await answered(protocol, 'create', body);
    expect(ok).toBe(true);
    expect(text).toMatch(/^The cloud accepted this/);
    expect(text).toContain('The answer cannot be read, because it is not an answer to CreateKey.');
  });

  test.each([
    ['awsQuery', '<ListKeysResponse><ListKeysResult/><ResponseMetadata/></ListKeysResponse>'],
    ['ec2Query', '<ListKeysResponse><requestId>1</requestId></ListKeysResponse>'],
    ['restXml', '<ListKeysOutput><Other>1</Other></ListKeysOutput>'],
    ['restXml', '<Other/>'],
    ['awsJson1_0', '{}'],
  ])('of %s may be empty: %s', async (protocol, body) => {
    const { ok, text } = await answered(protocol, 'list', body);
    expect(ok).toBe(true);
    expect(text).not.toContain('expected fields');
    expect(text).toMatch(/^ListKeys succeeded\. Its answer has no values to show\./);
  });

  test.each([
    ['awsJson1_0', 'null'],
    ['awsJson1_0', '[{"x":1}]'],
    ['awsJson1_0', ''],
    ['restJson1', 'null'],
    ['restJson1', '[1]'],
    ['restJson1', '{"x":1}'],
    ['restXml', ''],
  ])('of %s that has nothing expected gets a warning: %j', async (protocol, body) => {
    expect((await answered(protocol, 'list', body)).text).toContain(
      `warning: The answer has none of the expected fields: Keys${protocol.startsWith('rest') ? '' : ' or Marker'}.`,
    );
    expect(await answered(protocol, 'create', body)).toMatchObject({ ok: true });
  });

  test.each([
    // A time in another format of the protocols is read.
    ['awsJson1_1', 'At', '"2026-12-05T00:00:00Z"', '"2026-12-05T00:00:00.000Z"'],
    ['awsJson1_1', 'At', '"Sat, 05 Dec 2026 00:00:00 GMT"', '"2026-12-05T00:00:00.000Z"'],
    ['restXml', 'At', '1796428800', '"2026-12-05T00:00:00.000Z"'],
    // Other values stay as they are.
    ['awsJson1_1', 'At', '"now"', '"now"'],
    ['awsQuery', 'At', '26.11.2026', '"26.11.2026"'],
    ['restXml', 'At', '20261126', '"20261126"'],
    ['restJson1', 'Data', '"not base64!"', '"not base64!"'],
    ['restXml', 'Data', 'not base64!', '"not base64!"'],
    ['restJson1', 'Size', '"big"', '"big"'],
    ['restXml', 'Size', 'big', '"big"'],
    ['restXml', 'Size', '<x>1</x>', '{"x":"1"}'],
    ['awsJson1_0', 'Total', '"many"', '"many"'],
  ])('of %s with %s in a wrong format is read: %s', async (protocol, field, value, told) => {
    const isXml = protocol === 'restXml' || protocol === 'awsQuery';
    const inXml = (name: string, content: string) => `<${name}>${content}</${name}>`;
    const things = isXml
      ? inXml(
          'Things',
          inXml('member', inXml('Thing', 'a')) + inXml('member', inXml('Thing', 'b') + inXml(field, value)),
        )
      : `{"Things":[{"Thing":"a"},{"Thing":"b","${field}":${value}}]}`;
    const rest = `${inXml('Code', '7')}${inXml('On', 'true')}${inXml('Bytes', 'aGk=')}`;
    const body = !isXml
      ? `${things.slice(0, -1)},"Code":7,"On":true,"Bytes":"aGk="}`
      : protocol === 'awsQuery'
        ? inXml('ListThingsResponse', inXml('ListThingsResult', things + rest))
        : inXml('ListThingsOutput', things + rest);
    const result = await answered(protocol, 'things', body);
    const record = {
      Things: [{ Thing: 'a' }, { Thing: 'b', [field]: JSON.parse(told) }],
      Code: 7,
      On: true,
      Bytes: 'aGk=',
    };
    expect(result).toMatchObject({ ok: true, structured: { answer: record } });
    expect(result.text).toContain('2 in Things: "a", "b"');
    expect(result.text).not.toContain('warning');
  });

  test('with a header in a wrong format is read', async () => {
    headers = { 'x-at': 'yesterday' };
    const result = await answered('restXml', 'get', 'plain text').finally(() => {
      headers = {};
    });
    const answer = { At: 'yesterday', Body: Buffer.from('plain text').toString('base64') };
    expect(result).toMatchObject({ ok: true, structured: { answer } });
  });

  test.each([
    ['restJson1', '{"cut', 'it looks like JSON, but it is cut short or not well-formed'],
    ['awsJson1_0', 'OK', 'it is plain text, not JSON'],
    ['awsJson1_1', '<html></html>', 'it is an HTML page, not JSON'],
    ['restXml', '{"a":1}', 'it is JSON, not XML'],
  ])('of %s that cannot be read says why: %j', async (protocol, body, reason) => {
    expect((await answered(protocol, 'list', body)).text).toContain(`the answer cannot be read, because ${reason}.`);
    const { text } = await answered(protocol, 'create', body);
    expect(text).toContain(`he answer cannot be read, because ${reason}.`);
    expect(text).not.toContain('nothing');
  });
});

test('names and texts can be chosen', async () => {
  const named = { ...create, name: 'hire', description: 'Hires.', continues: false };
  const { operations } = await load({ ...settings, operations: { CreateUser: named } });
  expect(operations).toMatchObject([{ name: 'hire', description: 'Hires.', change: { continues: false } }]);
});

test('names of members and names in requests are both accepted, in every setting', async () => {
  const follow = { read: 'GetUser', arguments: { user: 'input.userName' }, done: { 'User.state': 'ACTIVE' } };
  const members = {
    UserName: member('String', { required: {}, jsonName: 'userName' }),
    TeamId: member('String', { required: {}, httpLabel: {} }),
  };
  const json = smallModelJson(
    {
      CreateUser: {
        input: members,
        output: { FailedUsers: member('small#Users', { jsonName: 'failed' }) },
        traits: http('POST', '/teams/{TeamId}/users'),
      },
      GetUser: {
        input: { UserName: member('String', { httpQuery: 'user' }) },
        output: { User: 'small#User', ApiToken: member('String', { jsonName: 'token' }) },
        traits: http('GET', '/user'),
      },
    },
    {
      'small#Users': { type: 'list', member: { target: 'small#User' } },
      'small#User': {
        type: 'structure',
        members: { State: { target: 'smithy.api#String', traits: { 'smithy.api#jsonName': 'state' } } },
      },
    },
  );
  const { operations, problems } = await load({
    ...settings,
    model: json,
    operations: {
      GetUser: { effect: 'read', show: ['token'] },
      CreateUser: { ...create, example: { TeamId: 'blue', userName: 'ada' }, follow, failures: 'failed' },
    },
  });
  expect(problems).toEqual([]);
  expect(operations[1]).toMatchObject({
    example: { TeamId: 'blue', UserName: 'ada' },
    failures: 'FailedUsers',
    follow: { read: 'people_get_user', arguments: { UserName: 'input.UserName' }, done: { 'User.State': 'ACTIVE' } },
  });
  answer = '{"token":"abcdefgh"}';
  const { call, close } = caller();
  const [read] = operations;
  const { text } = read === undefined ? { text: '' } : await call(read, {}, { signal: never });
  await close();
  expect(text).toContain('abcdefgh');
});

test('a text that holds JSON stays a text in an answer', async () => {
  const json = smallModelJson(
    {
      GetPolicy: {
        output: { Policy: member('String', { mediaType: 'application/json' }), Prices: 'small#Prices' },
        traits: http('GET', '/policy'),
      },
    },
    {
      'small#Prices': { type: 'list', member: { target: 'small#Price' } },
      'small#Price': { type: 'string', traits: { 'smithy.api#mediaType': 'application/json' } },
    },
  );
  const getPolicy = { model: json, operations: { GetPolicy: { effect: 'read' } } };
  answer = String.raw`{"Policy":"{\"deny\": []}","Prices":["{\"yen\":1}"]}`;
  const { call, close } = caller();
  const { text } = await call(await named('people_get_policy', { ...settings, ...getPolicy }), {}, { signal: never });
  await close();
  expect(text).toContain(String.raw`Policy: "{\"deny\": []}"`);
});

describe('a plan names the changed resource, and not the one that holds it', () => {
  const label = member('String', { required: {}, httpLabel: {} });
  const required = member('String', { required: {} });
  const json = smallModelJson({
    // The members are not in the order of the path.
    DeleteNode: {
      input: { nodeId: label, clusterId: label },
      traits: http('DELETE', '/clusters/{clusterId}/nodes/{nodeId}'),
    },
    DeleteObject: { input: { Bucket: label, Key: label }, traits: http('DELETE', '/{Bucket}/{Key+}') },
    DeleteVersion: {
      input: { VersionId: label, Channel: label },
      traits: http('DELETE', '/versions/{VersionId}/{Channel}'),
    },
    DeleteUserPolicy: { input: { UserName: required, PolicyName: required }, traits: http('POST', '/policies') },
    DetachKey: { input: { UserName: required, RoleName: required }, traits: http('POST', '/keys') },
    DeleteChannels: { input: { Channel: required, Note: required }, traits: http('POST', '/channels') },
    DeleteGroup: { input: { GroupName: 'String', RoleName: 'String' }, traits: http('POST', '/groups') },
  });

  test.each([
    ['DeleteNode', 'Delete node "nodeId"', ['clusterId', 'nodeId']],
    ['DeleteObject', 'Delete object "Key"', ['Bucket', 'Key']],
    ['DeleteVersion', 'Delete version "VersionId"', ['Channel', 'VersionId']],
    ['DeleteUserPolicy', 'Delete user policy "PolicyName"', ['UserName', 'PolicyName']],
    ['DetachKey', 'Detach key: "UserName"', ['RoleName', 'UserName']],
    ['DeleteGroup', 'Delete group "GroupName"', ['GroupName']],
    ['DeleteChannels', 'Delete channel "Channel"', ['Channel']],
  ])('%s', async (name, accept, identifies) => {
    const deletion = { effect: 'delete', costsMoney: false, consequences: ['It is gone.'] };
    const { operations, problems } = await load({
      ...settings,
      model: json,
      operations: { [name]: deletion },
    });
    expect(problems).toEqual([]);
    const change = operations[0]?.change;
    const input = Object.fromEntries(identifies.map((path) => [path, path]));
    expect(change?.identifies).toEqual(identifies);
    expect(change?.accept(input).text).toBe(accept);
  });
});

describe('a change of a list or of a URL', () => {
  const required = member('String', { required: {} });
  const structure = (members: object) => ({ type: 'structure', members });
  const text = { target: 'smithy.api#String' };
  const requiredText = { ...text, traits: { 'smithy.api#required': {} } };
  const requiredList = (target: string) => ({ target, traits: { 'smithy.api#required': {} } });
  const json = smallModelJson(
    {
      TerminateInstances: {
        input: { InstanceIds: member('small#Texts', { required: {} }) },
        traits: http('POST', '/t'),
      },
      DeleteObjects: {
        input: {
          Bucket: member('String', { required: {}, httpLabel: {} }),
          Delete: member('small#Delete', { required: {}, httpPayload: {} }),
        },
        traits: http('POST', '/{Bucket}'),
      },
      PurgeQueue: { input: { QueueUrl: required }, traits: http('POST', '/p') },
      DeleteMessageBatch: {
        input: { QueueUrl: required, Entries: member('small#Entries', { required: {} }) },
        traits: http('POST', '/b'),
      },
      CreateTags: { input: { Resources: member('small#Texts', { required: {} }) }, traits: http('POST', '/c') },
      AddUsers: { input: { Users: member('small#Secrets', { required: {} }) }, traits: http('POST', '/u') },
      PutColors: { input: { Colors: member('small#Texts', { required: {} }) }, traits: http('POST', '/k') },
      DeleteTopic: { input: { TopicArn: required }, traits: http('POST', '/a') },
    },
    {
      'small#Texts': { type: 'list', member: text },
      'small#Delete': structure({ Objects: requiredList('small#Objects'), Quiet: { target: 'smithy.api#Boolean' } }),
      'small#Objects': { type: 'list', member: { target: 'small#Object' } },
      'small#Object': structure({ VersionId: text, Key: requiredText }),
      'small#Entries': { type: 'list', member: { target: 'small#Entry' } },
      'small#Entry': structure({ Id: requiredText, ReceiptHandle: requiredText }),
      'small#Secrets': { type: 'list', member: { target: 'small#Secret' } },
      'small#Secret': structure({ Name: requiredText, Password: text }),
    },
  );
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `i-${index}`);
  const objects = (count: number) => ({ Objects: ids(count).map((Key) => ({ VersionId: 'v', Key })) });
  const QueueUrl = 'https://sqs.us-east-1.example.com/1/prod-orders';
  const TopicArn = 'arn:aws:sns:us-east-1:111122223333:alerts';

  test.each<[input: object, name: string, headline: string, accept: string, typed: string]>([
    [
      { InstanceIds: ids(1) },
      'TerminateInstances',
      'Terminate instance "i-0" in people',
      'Terminate instance "i-0"',
      'i-0',
    ],
    [
      { InstanceIds: ids(60) },
      'TerminateInstances',
      'Terminate 60 instances "i-0", "i-1" and 58 more in people',
      'Terminate 60 instances',
      'terminate 60',
    ],
    [{ InstanceIds: [] }, 'TerminateInstances', 'Terminate instances in people', 'Terminate instances', 'terminate'],
    [
      { Bucket: 'b', Delete: objects(1) },
      'DeleteObjects',
      'Delete object "i-0" in people, bucket "b"',
      'Delete object "i-0"',
      'i-0',
    ],
    [
      { Bucket: 'b', Delete: objects(3) },
      'DeleteObjects',
      'Delete 3 objects "i-0", "i-1" and 1 more in people, bucket "b"',
      'Delete 3 objects',
      'delete 3',
    ],
    [
      { QueueUrl },
      'PurgeQueue',
      `Purge queue "1/prod-orders" ("${QueueUrl}") in people`,
      'Purge queue "1/prod-orders"',
      'd-orders',
    ],
    [
      { QueueUrl, Entries: [{ Id: 'e', ReceiptHandle: 'r' }] },
      'DeleteMessageBatch',
      `Delete message batch in people: queue "1/prod-orders" ("${QueueUrl}"), entries "e"`,
      'Delete message batch: "e"',
      'e',
    ],
    [
      { TopicArn },
      'DeleteTopic',
      `Delete topic "alerts" ("${TopicArn}") in people`,
      'Delete topic "alerts"',
      '3:alerts',
    ],
    [
      { Resources: ids(2) },
      'CreateTags',
      'Create tags in people: resources "i-0", "i-1"',
      'Create tags: 2',
      'create 2',
    ],
    [{ Users: [{ Name: 'ada', Password: 'MARKER' }] }, 'AddUsers', 'Add users in people', 'Add users', 'add'],
    [{ Colors: ['red'] }, 'PutColors', 'Put color "red" in people', 'Put color "red"', 'red'],
  ])('%j of %s names what it changes', async (given, name, headline, accept, typed) => {
    const deletion = { effect: 'delete', costsMoney: false, consequences: ['It is gone.'] };
    const { operations, problems } = await load({
      ...settings,
      model: json,
      operations: { [name]: deletion },
    });
    expect(problems).toEqual([]);
    const [operation] = operations;
    const { change } = operation ?? {};
    if (operation === undefined || change === undefined) throw new Error('it is a change');
    const input: Readonly<Record<string, unknown>> = { ...given };
    expect(change.headline(input, '').text).toBe(headline);
    expect(change.accept(input).text).toBe(accept);
    expect(nameToType({ operation, change, input, account: { confirm: 'human' } })).toBe(typed);
    // The question lists all others, because the headline may shorten them.
    expect(change.named).toEqual(Object.keys(input).filter((argument) => typeof input[argument] === 'string'));
  });
});

describe('a change without a required name', () => {
  const strings = { target: 'smithy.api#String' };
  const structure = (members: object) => ({ type: 'structure', members });
  const json = smallModelJson(
    {
      PutRule: { input: { Rule: member('small#Rule', { required: {} }), Note: 'String' } },
      UpdateBus: { input: { Description: 'String', BusName: 'String', KeyIds: 'small#Texts' } },
      WriteItems: { input: { RequestItems: member('small#Map', { required: {} }) } },
      TransactItems: { input: { Entries: member('small#Entries', { required: {} }) } },
      Detect: { input: { Text: member('String', { required: {} }), Mode: member('Boolean', { required: {} }) } },
      SetMode: { input: { Mode: member('Boolean', { required: {} }), Password: 'String' } },
      EnableDomain: {
        input: { Domain: member('String', { required: {} }), Policy: member('String', { required: {} }) },
      },
      CreateStage: {
        input: {
          apiId: member('String', { required: {}, httpLabel: {} }),
          stageName: member('String', { required: {} }),
          roleName: member('String', { required: {} }),
        },
        traits: http('POST', '/apis/{apiId}/stages'),
      },
    },
    {
      'small#Rule': structure({ RuleName: strings, Password: strings, Size: { target: 'smithy.api#Integer' } }),
      'small#Texts': { type: 'list', member: strings },
      'small#Map': { type: 'map', key: strings, value: { target: 'small#Texts' } },
      'small#Entries': { type: 'list', member: { target: 'small#Entry' } },
      'small#Entry': structure({ Put: { target: 'small#Put' }, Delete: { target: 'small#Put' } }),
      'small#Put': structure({ TableName: strings }),
    },
  );

  test.each<[name: string, input: object, named: string, thing: string]>([
    ['PutRule', { Rule: { RuleName: 'r-1', Password: 'MARKER', Size: 2 } }, ' "r-1" in people', 'r-1'],
    ['UpdateBus', { Description: 'd', BusName: 'main', KeyIds: ['k'] }, ' "main" in people', 'main'],
    ['UpdateBus', { KeyIds: ['k'] }, ' in people', 'people_update_bus'],
    ['UpdateBus', { Description: 'd' }, ' in people', 'people_update_bus'],
    ['WriteItems', { RequestItems: { orders: ['a'] } }, ' in people: request items "orders"', 'people_write_items'],
    ['TransactItems', { Entries: [{ Put: { TableName: 't-1' } }] }, ' in people: table "t-1"', 't-1'],
    ['Detect', { Text: 'a text', Mode: true }, ' in people: text "a text"', 'people_detect'],
    ['SetMode', { Mode: true, Password: 'MARKER' }, ' "true" in people', 'people_set_mode'],
    ['EnableDomain', { Domain: 'example.com', Policy: '{}' }, ' "example.com" in people', 'example.com'],
    ['CreateStage', { apiId: 'a', stageName: 's', roleName: 'r' }, ' "s" in people, api "a"', 's'],
  ])('%s of %j names what it is about', async (name, input, named, thing) => {
    const operations = { [name]: { effect: 'alter', effectIsSure: true, costsMoney: false } };
    const { operations: loaded } = await load({ ...settings, model: json, operations });
    const [operation] = loaded;
    if (operation === undefined) throw new Error('there is none');
    const { call, store, close } = caller('plan');
    const { text } = await call(operation, input, { signal: never });
    const [change] = await store.waiting({});
    await close();
    expect(change?.plan.summary.text).toBe(`${operation.title}${named}.`);
    expect(change && thingOf(change)).toBe(thing);
    expect(text).not.toContain('MARKER');
    // What the headline does not name stands elsewhere in the plan.
    for (const value of Object.values(input).flatMap((each) => (typeof each === 'string' ? [each] : [])))
      expect(text).toContain(value === 'MARKER' ? 'hidden secret' : value);
  });
});

test('the status of an answer is a value of it', async () => {
  const json = smallModelJson({
    GetUser: {
      output: { Status: member('Integer', { httpResponseCode: {} }) },
      traits: http('GET', '/user'),
    },
  });
  const read = await named('people_get_user', {
    ...settings,
    model: json,
    operations: { GetUser: { effect: 'read' } },
  });
  status = 203;
  const { call, close } = caller();
  const { text } = await call(read, {}, { signal: never });
  await close();
  status = 200;
  expect(text).toContain('Status 203');
});

describe('the example of an operation', () => {
  const inputs = (...examples: readonly object[]) => ({
    ...smallModelJson(
      {
        CreateUser: {
          input: {
            UserName: member('String', { required: {}, jsonName: 'userName' }),
            Age: member('Integer', { range: { min: 1 } }),
            Team: 'small#Team',
            ClientToken: member('String', { idempotencyToken: {} }),
          },
          traits: { ...http('POST', '/users'), 'smithy.api#examples': examples },
        },
      },
      {
        'small#Team': {
          type: 'structure',
          members: { Tags: { target: 'small#Tags', traits: { 'smithy.api#jsonName': 'tags' } } },
        },
        'small#Tags': { type: 'list', member: { target: 'smithy.api#String' } },
      },
    ),
  });
  const example = { input: { UserName: 'ada', Age: 3, Team: { Tags: ['a'] }, ClientToken: 'x' }, output: {} };
  const { ClientToken: _, ...ofCall } = example.input;

  test.each<[what: string, examples: readonly object[], expected: object]>([
    ['is the first of the model', [example, { input: {} }], ofCall],
    ['is none that fails', [{ ...example, error: {} }], { UserName: 'example' }],
    ['is none that breaks a rule', [{ input: { UserName: 'ada', Age: 0 } }, example], ofCall],
    ['is made up if the model has only nonsense', [{ input: 'ada' }], { UserName: 'example' }],
  ])('%s', async (_what, examples, expected) => {
    const given = { ...settings, model: inputs(...examples), operations: { CreateUser: create } };
    expect(exampleOf(await named('people_create_user', given))).toEqual(expected);
  });

  test('is none for a structure that requires itself, and is not searched twice at a level', () => {
    let searched = 0;
    const text: Shape = { id: 'small#Text', traits: {}, kind: 'text', type: 'string' };
    const traits = { ownTraits: {}, traits: {} };
    const required = { isRequired: true, isSensitive: false, isOfApiKey: false, documentation: '', requestName: '' };
    const memberOf = (name: string, shape: Shape): Member => ({
      ...required,
      ...traits,
      name,
      memberName: name,
      shape,
    });
    const team: Shape = {
      id: 'small#Team',
      traits: {},
      kind: 'structure',
      isUnion: false,
      get members() {
        searched += 1;
        if (searched > 1000) throw new Error('searched too often');
        return ['Left', 'Right'].map((name) => ({
          ...memberOf(name, text),
          get shape() {
            return team;
          },
        }));
      },
    };
    expect(exampleArguments([memberOf('Team', team)])).toBeUndefined();
    expect(searched).toBeLessThan(30);
  });
});

describe('the files next to a model of botocore', () => {
  const metadata = { protocol: 'rest-json', signatureVersion: 'v4', endpointPrefix: 'people' };
  const operations = { ListUsers: { http: { method: 'GET', requestUri: '/users' } } };
  const given = { ...settings, model: './service-2.json', operations: { ListUsers: { effect: 'read' } } };
  const waitersFile = join(folder, 'waiters-2.json');
  afterEach(() => rmSync(waitersFile, { recursive: true, force: true }));
  writeFileSync(join(folder, 'service-2.json'), JSON.stringify({ metadata, operations, shapes: {} }));

  test('may be missing', async () => {
    expect(await load(given)).toMatchObject({ operations: [{ name: 'people_list_users' }], problems: [] });
  });

  test('are refused if they cannot be read', async () => {
    mkdirSync(waitersFile);
    const { problems } = await load(given);
    expect(problems).toEqual(['the model "./service-2.json": waiters-2.json next to it: it is not a regular file.']);
  });

  test('are refused if they are no JSON', async () => {
    writeFileSync(waitersFile, '{"cut');
    const { problems } = await load(given);
    expect(problems).toEqual(['the model "./service-2.json": waiters-2.json next to it: it is not a JSON object.']);
  });
});

describe('a name that the model does not have is a problem', () => {
  const json = smallModelJson(
    {
      CreateUser: {
        input: { UserName: 'String', Profile: 'small#Profile' },
        output: { Errors: 'small#Failures', User: 'small#Profile' },
        traits: http('POST', '/users'),
      },
      GetUser: { input: { UserName: 'String' }, output: { User: 'small#Profile' }, traits: http('GET', '/user') },
    },
    {
      'small#Failures': { type: 'list', member: { target: 'small#Profile' } },
      'small#Map': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'smithy.api#String' } },
      'small#Profile': {
        type: 'structure',
        members: {
          State: { target: 'smithy.api#String' },
          Pin: { target: 'smithy.api#String' },
          Tags: { target: 'small#Map' },
          Parent: { target: 'small#Profile' },
        },
      },
    },
  );
  const follow = { read: 'GetUser', arguments: { UserName: 'input.UserName' }, done: { 'User.State': 'ACTIVE' } };
  const problemsWith = async (more: object) => {
    const operations = { CreateUser: { ...create, ...more }, GetUser: { effect: 'read' } };
    return (await load({ ...settings, model: json, operations })).problems;
  };

  test.each<[setting: string, more: object, problem: string]>([
    ['failures', { failures: 'Errrs' }, 'failures: Errrs is not in the answer; did you mean Errors?'],
    [
      'secretNames',
      { secretNames: ['Pim'] },
      'secretNames: Pim is not in the arguments or the answer; did you mean Pin?',
    ],
    ['show', { show: ['UserName'] }, 'show: UserName is not in the answer'],
    [
      'follow.arguments',
      { follow: { ...follow, arguments: { UserNam: 'input.UserName' } } },
      'follow.arguments: UserNam is not in the arguments of GetUser; did you mean UserName?',
    ],
    [
      'its source',
      { follow: { ...follow, arguments: { UserName: 'input.Name' } } },
      'follow.arguments: Name is not in the arguments',
    ],
    [
      'follow.done',
      { follow: { ...follow, done: { 'User.Stat': 'ACTIVE' } } },
      'follow.done: Stat is not in User of the answer of GetUser; did you mean State?',
    ],
  ])('in %s', async (_setting, more, problem) => {
    expect((await problemsWith(more)).join()).toContain(`operations.CreateUser: ${problem}`);
  });

  test.each<[setting: string, more: object]>([
    ['a secret at any depth', { secretNames: ['Pin'], show: ['State'] }],
    ['a list of failures', { failures: 'Errors' }],
    ['a name in a map', { follow: { ...follow, done: { 'User.Tags.any.thing': 'x' } } }],
  ])('but not %s', async (_what, more) => {
    expect(await problemsWith(more)).toEqual([]);
  });

  test('such as that of an operation', async () => {
    const operations = { GetUsers: { effect: 'read' } };
    expect((await load({ ...settings, model: json, operations })).problems.join()).toMatch(
      /the model has no operation GetUsers; did you mean GetUser\?/,
    );
  });
});

describe('a file of JSON', () => {
  const loadText = async (name: string, text: string) => {
    writeFileSync(join(folder, name), text, { flag: 'wx' });
    return loadOperationFiles(join(folder, name));
  };

  test('may begin with the mark of UTF-8, as its model may', async () => {
    writeFileSync(join(folder, 'marked-model.json'), `\uFEFF${readFileSync(join(folder, 'model.json'), 'utf8')}`);
    const file = { ...settings, model: './marked-model.json' };
    const { problems } = await loadText('marked.operations.json', `\uFEFF${JSON.stringify(file)}`);
    expect(problems).toEqual([]);
  });
});

const operation = (given: object, name = 'CreateUser') => ({ ...settings, operations: { [name]: given } });
test.each<[what: string, given: object, problem: RegExp]>([
  [
    'a model that is not there',
    { ...settings, model: './none.json' },
    /^the model "\.\/none\.json": .*no such file\)\. Write its path as seen from the folder ".*"\.$/,
  ],
  [
    'an unknown operation',
    operation({ effect: 'read' }, 'GetUser'),
    /^operations\.GetUser: the model has no operation/,
  ],
  [
    'an unknown field',
    operation({ ...create, costMoney: 1 }),
    /^operations\.CreateUser: costMoney is not a field; did you mean costsMoney\?/,
  ],
  [
    'the name of a built-in tool',
    { ...operation({ effect: 'read' }, 'ListParts'), prefix: undefined },
    /name: is taken.*prefix/,
  ],
  ['a stream', operation({ effect: 'read' }, 'Watch'), /^operations\.Watch: .*stream/],
])('%s is refused', async (_what, given, problem) => {
  const { operations, problems } = await load(given);
  expect(operations).toEqual([]);
  expect(problems.join('\n')).toMatch(problem);
});

describe('pages', () => {
  const paged = smallModelJson(
    {
      ListUsers: {
        input: { Marker: member('String', { httpQuery: 'marker' }), Size: member('Integer', { httpQuery: 'size' }) },
        output: { Names: 'small#Names', NextToken: 'String' },
        traits: {
          ...http('GET', '/users'),
          'smithy.api#paginated': { inputToken: 'Marker', outputToken: 'NextToken', items: 'Names', pageSize: 'Size' },
        },
      },
    },
    { 'small#Names': { type: 'list', member: { target: 'smithy.api#String' } } },
  );
  const listUsers = (model: unknown = paged) =>
    named('people_list_users', {
      ...settings,
      model,
      operations: { ListUsers: { effect: 'read' } },
    });
  /** Calls the operation at a cloud with these answers, of which the last is repeated with new tokens. */
  async function called(answers: readonly ((page: number) => object)[], args: object = {}, model?: unknown) {
    let page = 0;
    const server = await startServer((_request, response) => {
      const answerOf = answers[page] ?? answers.at(-1);
      page += 1;
      response.end(JSON.stringify(answerOf?.(page)));
    });
    const { call, close } = testCaller('', { cloud: { endpoints: { people: server.origin } } });
    const { text } = await call(await listUsers(model), args, { signal: never });
    await close();
    await server.close();
    return { text, urls: server.requests.map(({ url }) => url) };
  }

  test('are joined from the one with the given token to the last', async () => {
    expect((await listUsers()).schemas?.input.properties).toHaveProperty('Marker');
    expect((await listUsers()).schemas?.input.properties).toHaveProperty('Size');
    const answers = [() => ({ Names: ['a'], NextToken: 'second+page' }), () => ({ Names: ['b'] })];
    const all = await called(answers);
    expect(all.text).toMatch(/^ListUsers found 2 in Names: "a", "b"\.\n/);
    expect(all.text).not.toContain('To read on');
    expect(all.urls).toEqual(['/users', '/users?marker=second%2Bpage']);
    const some = await called(answers, { marker: 'first' });
    expect(some.urls).toEqual(['/users?marker=first', '/users?marker=second%2Bpage']);
  });

  test('of which a limit leaves some unread end with the token of the next call', async () => {
    const { text } = await called([(page) => ({ Names: [`n${page}`], NextToken: `token-${page}` })]);
    expect(text).toMatch(/^ListUsers found 100 in Names: "n1", "n2", "n3" and others\. More follow\.\n/);
    expect(text).toMatch(/NextToken: token-100$/m);
    expect(text).toContain(
      'next: To read on, call again with the same arguments and Marker as NextToken in the answer.',
    );
  });

  test('are read as far as the answer can show them, and no entry is lost between two calls', async () => {
    const all = Array.from({ length: 40 }, (_, page) => ({ Names: [`${page}-${'n'.repeat(1900)}`, `${page}-b`] }));
    const server = await startServer(({ url }, response) => {
      const page = Number(new URL(url, 'http://x').searchParams.get('marker') ?? 0);
      const next = page + 1 < all.length ? { NextToken: `${page + 1}` } : {};
      response.end(JSON.stringify({ ...all[page], ...next }));
    });
    const { call, close } = testCaller('', { cloud: { endpoints: { people: server.origin } } });
    const operation = await listUsers();
    const read: unknown[] = [];
    let args = {};
    for (let calls = 0; calls < all.length; calls += 1) {
      const result = await call(operation, args, { signal: never });
      const { answer = {}, leftOut, next } = result.ok ? result.structured : {};
      expect(leftOut).toBeUndefined();
      read.push(...[answer.Names].flat());
      if (answer.NextToken === undefined) break;
      expect(result.text).toContain('because more would be too long for one answer.');
      expect(next?.text.text).toContain('call again with the same arguments and Marker as NextToken');
      args = { marker: answer.NextToken };
    }
    const whole = await call(operation, {}, { signal: never, client: { wantsWholeAnswer: true } });
    await close();
    await server.close();
    expect(read).toEqual(all.flatMap(({ Names }) => Names));
    // The test shortens every answer to the budget, so the number of pages is in the summary only.
    expect(whole.text).toMatch(/^ListUsers found 80 in Names/);
  });

  test('of which the first is too long end without a next step, which would lead past the entries that were left out', async () => {
    const Names = Array.from({ length: 20 }, () => 'n'.repeat(1900));
    const { text, urls } = await called([(page) => ({ Names, NextToken: `token-${page}` })]);
    expect(text).toMatch(/^left out: 1\d entries of Names$/m);
    expect(text).not.toContain('To read on');
    expect(urls).toHaveLength(2);
  });

  test('that the model does not describe are read on by a caller, who learns the fields and the size', async () => {
    const input = { Since: 'String', MaxResults: 'Integer' };
    const output = { Names: 'small#Names', NextKey: 'String', IsTruncated: 'Boolean' };
    const shapes = { 'small#Names': { type: 'list', member: { target: 'smithy.api#String' } } };
    const unpaged = smallModelJson({ ListUsers: { input, output, traits: http('POST', '/users') } }, shapes);
    const answerWith = async (Names: readonly string[]) =>
      called([() => ({ Names, NextKey: 'second', IsTruncated: true })], {}, unpaged);
    const { text } = await answerWith(['a', 'b']);
    expect(text).toMatch(/^ListUsers succeeded: 2 in Names: "a", "b"\. More follow\.\n/);
    expect(text).toContain('next: To read on, see NextKey in the answer.');

    const { text: cutText } = await answerWith(Array.from({ length: 50 }, () => 'n'.repeat(1900)));
    expect(cutText).toMatch(/^left out: 4\d entries of Names$/m);
    expect(cutText).toContain(
      'To get it, call with fields such as ["Names"], with a small MaxResults, with arguments that select less,',
    );
    expect(cutText).toContain('More follow.');
    expect(cutText).not.toContain('NextKey in the answer');
  });

  test.each([
    ['NextToken', 'NextToken', 'String', 'second', 'second'],
    ['Marker', 'NextMarker', 'String', 'second', 'second'],
    ['ExclusiveStartKey', 'LastEvaluatedKey', 'small#Key', { Id: { B: 'aGk=' } }, { Id: { B: 'aGk=' } }],
  ])(
    'that the model does not describe are joined by %s and %s',
    async (inputToken, outputToken, target, token, sent) => {
      const shapes = {
        'small#Names': { type: 'list', member: { target: 'smithy.api#String' } },
        'small#Key': { type: 'map', key: { target: 'smithy.api#String' }, value: { target: 'small#Value' } },
        'small#Value': { type: 'union', members: { B: { target: 'smithy.api#Blob' } } },
      };
      const scan = { input: { [inputToken]: target }, output: { Names: 'small#Names', [outputToken]: target } };
      const bodies: unknown[] = [];
      const answers = [{ Names: ['a'], [outputToken]: token }, { Names: ['b'] }];
      const server = await startServer(({ body }, response) => {
        bodies.push(JSON.parse(body));
        response.end(JSON.stringify(answers[bodies.length - 1]));
      });
      const { call, close } = testCaller('', { cloud: { endpoints: { people: server.origin } } });
      const operation = await listUsers(smallModelJson({ ListUsers: scan }, shapes, 'awsJson1_0'));
      const result = await call(operation, {}, { signal: never });
      expect(result).toMatchObject({ structured: { answer: { Names: ['a', 'b'] } } });
      // The token of an answer is an argument of the next call.
      await call(operation, { [inputToken]: token }, { signal: never });
      await close();
      await server.close();
      expect(bodies.slice(0, 3)).toEqual([{}, { [inputToken]: sent }, { [inputToken]: sent }]);
    },
  );

  describe('have tokens', () => {
    const tokenModel = (traits: object) =>
      smallModelJson(
        {
          ListSyncs: {
            input: { SyncToken: member('String', { httpQuery: 'sync', ...traits }), Session: 'small#Session' },
            output: { Names: 'small#Names', SyncToken: 'String', Session: 'small#Session' },
            traits: {
              ...http('POST', '/syncs'),
              'smithy.api#paginated': { inputToken: 'SyncToken', outputToken: 'SyncToken', items: 'Names' },
            },
          },
        },
        {
          'small#Names': { type: 'list', member: { target: 'smithy.api#String' } },
          'small#Session': {
            type: 'structure',
            members: {
              SyncToken: { target: 'smithy.api#String' },
              PageAccessToken: { target: 'smithy.api#String' },
              NextRefreshToken: { target: 'smithy.api#String' },
              NextPageToken: { target: 'smithy.api#String' },
            },
          },
        },
      );
    const sessions = ['Session.SyncToken', 'Session.PageAccessToken', 'Session.NextRefreshToken'];

    test.each<[what: string, traits: object, more: object, isSecret: boolean]>([
      ['that are shown, but no others with the same name', {}, {}, false],
      ['that are shown even if the model marks them as sensitive', { sensitive: {} }, {}, false],
      ['that are hidden if the file says so', {}, { secretNames: ['SyncToken'] }, true],
    ])('%s', async (_what, traits, more, isSecret) => {
      const operations = { ListSyncs: { effect: 'read', ...more } };
      const read = await named('people_list_syncs', { ...settings, model: tokenModel(traits), operations });
      expect(read.secrets).toEqual([...(isSecret ? ['SyncToken'] : []), ...sessions]);

      let page = 0;
      const server = await startServer((_request, response) => {
        page += 1;
        const Session = { SyncToken: `inner-${page}`, PageAccessToken: 'access', NextRefreshToken: 'refresh' };
        response.end(JSON.stringify({ Names: ['a'], SyncToken: `outer-${page}`, Session }));
      });
      const { call, close } = testCaller('', { cloud: { endpoints: { people: server.origin } } });
      const { text } = await call(read, {}, { signal: never });
      await close();
      await server.close();
      expect(server.requests.at(1)?.url).toBe('/syncs?sync=outer-1');
      expect(text.includes('SyncToken: outer-100')).toBe(!isSecret);
      expect(text.includes('To read on')).toBe(!isSecret);
      for (const hidden of ['inner-', 'access', 'refresh']) expect(text).not.toContain(hidden);
    });
  });
});
