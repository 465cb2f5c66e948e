/** Files of operations with one fault each, and what is said of it. `{}` in a file stands for the fields of an operation that works. */

const operation = `
  name: 'get_thing', api: 'GetThing', title: 'Get a thing', description: 'Gets a thing.', effect: 'read', service: 'things',
  signing: { service: 'things', headers: 'api' }, method: 'GET', answer: 'json', example: { id: 'a' },
  input: () => kit.z.strictObject({ id: kit.fields.pathName().describe('Its ID.') }),
  request: ({ id }) => ({ path: '/things/' + kit.encodeSegment(id) }),
  summarize: () => kit.say\`There it is.\`,
`;

const change = `
  effect: 'alter', method: 'PUT',
  input: () => kit.z.strictObject({ id: kit.fields.pathName().describe('Its ID.'), ...kit.fields.consentArguments() }),
  change: {
    costsMoney: false, continues: false, headline: () => kit.say\`Change it\`, accept: () => kit.say\`Change\`, consequences: () => [],
    warnings: () => [], notChecked: [], named: [], verificationHint: () => kit.say\`a thing\`,
  },
`;

/** A file with one operation: the one that works, with some of its fields replaced. */
export const fileWith = (fields = '', after = '') =>
  `export default (kit) => [kit.defineOperation({ ${operation} ${fields} })${after}];\n`;

/** A file with an operation that changes something. */
export const changeWith = (fields = '') => fileWith(`${change} ${fields}`);

/** Refused at the start. */
export const faultyFiles: readonly (readonly [what: string, source: string, problem: RegExp])[] = [
  ['an import that throws', "throw new Error('no network');", /cannot be imported: "no network"/],
  ['no JavaScript', 'export default (kit => [', /cannot be imported/],
  ['a module that is not there', "import './missing.mjs';", /cannot be imported/],
  ['no default export', 'export const operations = [];', /default export must be a function/],
  [
    'a default export that throws',
    "export default () => { throw new Error('oops'); };",
    /default export threw: "oops"/,
  ],
  ['a default export that rejects', "export default async () => { throw new Error('oops'); };", /default export threw/],
  ['no list', 'export default () => ({});', /must return a list/],
  ['an entry that is no operation', 'export default () => [3];', /operation 1: must be an operation/],
  [
    'a later version of the kit',
    'export const kitVersion = 2; export default () => [];',
    /is for version "2" of the kit/,
  ],
  ['a missing field', fileWith('title: undefined'), /operation 1 \(get_thing\): title: is missing/],
  ['a field that is not one', fileWith('titel: "x"'), /: titel is not a field; did you mean title\?/],
  [
    'a field of follow that is not one',
    fileWith('', ", kit.extend('restore_instance', { follow: { read: 'get_thing', argument: {} } })"),
    /entry 2: .*argument is not a field; did you mean arguments\?/,
  ],
  ['a field of another type', fileWith('summarize: "x"'), /summarize: must be a function/],
  ['a name that hosts refuse', fileWith("name: 'Get-Thing'"), /name: must be lowercase letters/],
  ['a name that is too long', fileWith(`name: 'a${'b'.repeat(64)}'`), /name: must be lowercase letters/],
  ['the name of a built-in operation', fileWith("name: 'list_parts'"), /name: is taken by another operation/],
  [
    'the same name twice',
    fileWith('', `, kit.defineOperation({ ${operation} })`),
    /operation 2 .*name: is taken by another operation in platform-\d+\.mjs/,
  ],
  ['a name that every object has', fileWith("name: 'constructor'"), /name: is taken/],
  ['a service that every object has', fileWith("service: 'constructor'"), /service: is taken/],
  [
    'the argument that names an account',
    fileWith(
      "input: () => kit.z.strictObject({ account: kit.fields.text(20).describe('x') }), example: { account: 'a' }",
    ),
    /input: must not have "account"/,
  ],
  [
    'an argument that every object has',
    fileWith(
      "input: () => kit.z.strictObject({ constructor: kit.fields.text().describe('x') }), example: { constructor: 'a' }",
    ),
    /input: has a name that hosts do not take/,
  ],
  [
    'a huge description',
    fileWith(`description: '${'long '.repeat(300)}'`),
    /description: must have at most 1000 characters/,
  ],
  [
    'a huge example',
    fileWith(
      `input: () => kit.z.strictObject({ id: kit.fields.text(9000).describe('x') }), example: { id: 'a'.repeat(5000) }`,
    ),
    /example: has more than 4000 characters/,
  ],
  [
    'an example that JSON cannot hold',
    fileWith('example: { id: 10n }'),
    /\(get_thing\): example: must be what JSON can hold/,
  ],
  [
    'an argument that JSON cannot hold',
    fileWith("input: () => kit.z.strictObject({ id: kit.z.date().describe('x') })"),
    /\(get_thing\): input: Date cannot be represented/,
  ],
  [
    'an answer that JSON cannot hold',
    fileWith('output: () => kit.z.object({ id: kit.z.date() })'),
    /\(get_thing\): output: Date cannot be represented/,
  ],
  ['a secret under a wrong name', changeWith("secrets: ['idd']"), /secrets: idd is no argument/],
  [
    'a default of an argument that is none',
    fileWith("defaults: [{ path: 'id.name', value: 'x' }]"),
    /defaults: id\.name is no arg/,
  ],
  [
    'a trial that breaks the rules',
    fileWith('probe: { arguments: { ids: 1 }, accepted: [] }'),
    /probe\.arguments: id /,
  ],
  ['an example that breaks its rules', fileWith('example: {}'), /example: breaks its own rules: id/],
  ['a service without its signing', fileWith('signing: undefined'), /signing: is missing/],
  [
    'another signing of the same service',
    fileWith('', `, kit.defineOperation({ ${operation} name: 'two', signing: { service: 'x', headers: 'api' } })`),
    /signing: must be the same as that of get_thing/,
  ],
  [
    'a schema that is not strict',
    fileWith("input: () => kit.z.object({ id: kit.fields.text().describe('x') })"),
    /must be a strict object/,
  ],
  [
    'a schema with a union',
    fileWith("input: () => kit.z.strictObject({ id: kit.z.union([kit.z.string(), kit.z.int()]).describe('x') })"),
    /input: id (has no single type|uses what some hosts refuse)/,
  ],
  [
    'an argument without a description',
    fileWith('input: () => kit.z.strictObject({ id: kit.fields.text() })'),
    /id has no description/,
  ],
  [
    'a default export that throws when it has z',
    "export default ({ z }) => { throw new Error('oops'); };",
    /default export threw: "oops"/,
  ],
  [
    'a read beside it of another API',
    fileWith('followUpRead: { operation: kit.operations.list_parts, input: () => undefined }'),
    /followUpRead\.operation: must be of the same service, things/,
  ],
  [
    'a read before it that is none',
    fileWith('preflight: { operation: kit.operations.restore_instance, input: () => ({}) }'),
    /preflight\.operation: must be a read/,
  ],
  [
    'instructions without end',
    fileWith("instructions: [{ text: 'a'.repeat(301) }]"),
    /instructions\[0\]\.text: must have at most 300/,
  ],
  ['an input that is no schema', fileWith('input: () => ({})'), /input returned a wrong value/],
  [
    'rules for an argument that throw',
    fileWith(
      `example: { id: 'a', count: 3 }, input: () => kit.z.strictObject({
        id: kit.fields.pathName().describe('Its ID.'), count: kit.fields.wholeNumber({ min: 1 }).describe('How many.') })`,
    ),
    /get_thing: input\.count threw/,
  ],
  ['an input that throws', fileWith('input: () => { throw new Error("later"); }'), /input threw "later"/],
  [
    'a request with a field that is not one',
    fileWith("request: () => ({ path: '/', header: { a: 'b' } })"),
    /request returned a wrong value: header is not a field; did you mean headers\?$/m,
  ],
  ['a request that throws', fileWith('request: () => { throw new Error("later"); }'), /request threw "later"/],
  [
    'a request to another host',
    fileWith("request: () => ({ path: '@example.com/' })"),
    /request returned a wrong value: path must begin/,
  ],
  [
    'a request that addresses another resource',
    fileWith("request: () => ({ path: '/things/%2E./users' })"),
    /request returned a wrong value: path must not hold "\.\." or "\."/,
  ],
  ...['..%2F', 'things/..%2fusers', '..;/users', '%2e%2e%3B/', 'a%2F../b', '..%5Cusers', '.;x'].map(
    (path): [string, string, RegExp] => [
      `a request to /${path}, which some servers resolve`,
      fileWith(`request: () => ({ path: '/${path}' })`),
      /request returned a wrong value: path must not hold "\.\." or "\."/,
    ],
  ),
  [
    'a request longer than servers take',
    fileWith("request: () => ({ path: '/' + 'a'.repeat(20_000) })"),
    /request returned a wrong value: path must have at most 16384 characters/,
  ],
  [
    'a request with a body that is not from the kit',
    fileWith("request: () => ({ path: '/', body: { a: 1 } })"),
    /body must be made by kit.json, kit.xml, kit.form or kit.plainText/,
  ],
  ['a request whose promise rejects', fileWith("request: async () => { throw new Error('x'); }"), /request threw "x"/],
  [
    'a request whose promise has a wrong value',
    fileWith("request: async () => ({ path: 'a' })"),
    /request returned a wrong value: path must begin with "\/" and be percent-encoded: encodeSegment\(…\) encodes a name/,
  ],
  ...[
    'Authorization',
    'host',
    'content-length',
    'expect',
    'x-amz-date',
    'x-amz-security-token',
    'x-amz-content-sha256',
    'x-ext-date',
    'connection',
    'keep-alive',
    'Proxy-Authorization',
    'te',
    'trailer',
    'transfer-encoding',
    'upgrade',
  ].map((header): (typeof faultyFiles)[number] => [
    `a request with the header ${header}`,
    fileWith(`request: () => ({ path: '/', headers: { '${header}': 'a' } })`),
    /request returned a wrong value: headers\S* must not be set: the server sets it, or forbids it/,
  ]),
  [
    'a request with two spellings of a header',
    fileWith("request: () => ({ path: '/', headers: { A: '1', a: '2' } })"),
    /headers must have each name once/,
  ],
  [
    'a host prefix that is a whole address',
    fileWith("hostPrefix: 'https://evil.example/'"),
    /hostPrefix: must be the beginning of a host name/,
  ],
  [
    'a built-in operation that is altered',
    `export default (kit) => { kit.operations.list_parts.method = 'DELETE'; return []; };`,
    /default export threw: "Cannot assign to read only property 'method'/,
  ],
  [
    'what a built-in operation says altered',
    `export default (kit) => { kit.operations.restore_instance.change.headline = () => 'x'; return []; };`,
    /default export threw: "Cannot assign to read only property 'headline'/,
  ],
  [
    'a read that is named like a deletion',
    fileWith("api: 'DeleteThings', method: 'POST'"),
    /effect: is read, but DeleteThings is named like a change \(delete\)\. effectIsSure: true says that this is right\./,
  ],
  ['a read that deletes', fileWith("method: 'DELETE'"), /method: must not be DELETE for a read/],
  ['a change without words', fileWith("effect: 'alter', method: 'PUT'"), /change: is missing/],
  [
    'a change without consent',
    changeWith("input: () => kit.z.strictObject({ id: kit.fields.text().describe('x') })"),
    /lacks \.\.\.kit\.fields\.consentArguments/,
  ],
];

/** Loaded, and found by the contract: in a call, each is an answer without the text, or nothing is sent. */
export const lyingFiles: readonly (readonly [what: string, source: string, problem: RegExp])[] = [
  [
    'a summary that needs a field',
    fileWith(
      'output: () => kit.z.object({ items: kit.z.array(kit.z.string()) }), summarize: ({ items }) => String(items.length)',
    ),
    /summarize threw/,
  ],
  [
    'a summary of plain text',
    fileWith("summarize: (_, { id }) => 'Thing ' + id"),
    /summarize returned a wrong value: must be text made by kit\.say.* This is a plain string: "Thing a"/,
  ],
  [
    'a next step of plain text',
    fileWith("next: () => ({ who: 'agent', action: 'call', text: 'Call again.' })"),
    /next returned a wrong value: .*must be text made by kit\.say/,
  ],
  [
    'a warning of plain text',
    changeWith(
      'change: { costsMoney: false, continues: false, headline: () => kit.say`a`, accept: () => kit.say`a`, consequences: () => [], warnings: ({ id }) => [id + " is odd"], notChecked: [], named: [], verificationHint: () => kit.say`a` }',
    ),
    /change\.warnings returned a wrong value: .*must be text made by kit\.say/,
  ],
  [
    'a summary that is no text',
    fileWith('summarize: () => 3'),
    /summarize returned a wrong value: must be text made by kit\.say/,
  ],
  [
    'an asynchronous summary',
    fileWith("summarize: async () => { throw new Error('x'); }"),
    /summarize must not be asynchronous/,
  ],
  [
    'a rule that throws',
    fileWith(
      "input: () => kit.z.strictObject({ id: kit.z.string().refine((id) => id.length < 2 || kit.none.a).describe('x') })",
    ),
    /input\.id threw/,
  ],
  [
    'a rule of the answer that throws',
    fileWith('output: () => kit.z.object({ name: kit.z.string().refine((name) => name.a.b) })'),
    /output\.name threw/,
  ],
  ['an answer that is taken for granted', fileWith('extract: (body) => body.thing.name'), /extract threw/],
  [
    'an answer that throws when it is looked at',
    fileWith("extract: () => ({ get name() { throw new Error('x'); } })"),
    /extract threw "x"/,
  ],
  ['an answer that JSON cannot hold', fileWith('extract: () => ({ size: 10n })'), /extract threw ".*BigInt"/],
  [
    'an answer that holds itself',
    fileWith('extract: () => { const a = {}; a.a = a; return a; }'),
    /extract threw "Converting circular/,
  ],
  [
    'the words of a change that throw when they are looked at',
    changeWith("next: () => ({ who: 'user', action: 'check', get text() { throw new Error('x'); } })"),
    /next threw "x"/,
  ],
  ['a next step that throws', fileWith("next: () => { throw new Error('x'); }"), /next threw "x"/],
  [
    'a request that depends on a length',
    fileWith("request: ({ id }) => ({ path: id.length > 15 ? 'x' : '/x' })"),
    /request returned a wrong value/,
  ],
  [
    'an argument that addresses another resource',
    fileWith("input: () => kit.z.strictObject({ id: kit.fields.text(20).describe('x') })"),
    /request returned a wrong value: path must not hold "\.\."/,
  ],
  ['an empty summary', fileWith('summarize: () => kit.say``'), /summarize returned a wrong value: must not be empty/],
  [
    'a headline that is no text',
    changeWith(
      'change: { costsMoney: false, continues: false, headline: () => 1, accept: () => kit.say`a`, consequences: () => [], warnings: () => [], notChecked: [], named: [], verificationHint: () => kit.say`a` }',
    ),
    /change\.headline returned a wrong value/,
  ],
  [
    'consequences that are one text',
    changeWith(
      'change: { costsMoney: false, continues: false, headline: () => kit.say`a`, accept: () => kit.say`a`, consequences: () => kit.say`costs`, warnings: () => [], notChecked: [], named: [], verificationHint: () => kit.say`a` }',
    ),
    /change\.consequences returned a wrong value/,
  ],
  [
    'warnings that need all arguments',
    changeWith(
      'change: { costsMoney: false, continues: false, headline: () => kit.say`a`, accept: () => kit.say`a`, consequences: () => [], warnings: ({ id }) => id.length > 1 ? [] : [kit.say`short`], notChecked: [], named: [], verificationHint: () => kit.say`a` }',
    ),
    /change\.warnings threw/,
  ],
  [
    'contradictions that throw',
    changeWith(
      'output: () => kit.z.object({ a: kit.z.object({ b: kit.z.string() }) }), change: { costsMoney: false, continues: false, headline: () => kit.say`a`, accept: () => kit.say`a`, consequences: () => [], warnings: () => [], notChecked: [], named: [], verificationHint: () => kit.say`a`, contradictions: ({ a }) => [a.b] }',
    ),
    /change\.contradictions threw/,
  ],
  [
    'a replacement that nobody can be shown',
    changeWith(
      "input: () => kit.z.strictObject({ id: kit.fields.pathName().describe('x'), rules: kit.z.array(kit.fields.text(200)).max(500).describe('x'), ...kit.fields.consentArguments() }), example: { id: 'a', rules: ['b'] }, request: ({ id, rules }) => ({ path: '/' + kit.encodeSegment(id), body: kit.json({ rules }) })",
    ),
    /ifTooLarge: is missing/,
  ],
  [
    'a replacement whose list the example leaves out',
    changeWith(
      "input: () => kit.z.strictObject({ id: kit.fields.pathName().describe('x'), rules: kit.z.array(kit.fields.text(200)).max(1000).describe('x').optional(), ...kit.fields.consentArguments() }), example: { id: 'a' }, request: ({ id, rules }) => ({ path: '/' + kit.encodeSegment(id), body: kit.json({ rules }) })",
    ),
    /ifTooLarge: is missing/,
  ],
  [
    'a replacement whose entries must differ',
    changeWith(
      "input: () => kit.z.strictObject({ id: kit.fields.pathName().describe('x'), rules: kit.z.array(kit.fields.text(200)).max(500).refine((all) => new Set(all).size === all.length).describe('x'), ...kit.fields.consentArguments() }), example: { id: 'a', rules: ['b'] }, request: ({ id, rules }) => ({ path: '/' + kit.encodeSegment(id), body: kit.json({ rules }) })",
    ),
    /ifTooLarge: is missing/,
  ],
  [
    'arguments of the read before it that are no object',
    changeWith('preflight: { operation: kit.operations.list_multipart_uploads, input: () => 3 }'),
    /preflight\.input returned a wrong value: must be an object/,
  ],
  [
    'pages that go to no page',
    fileWith(
      "pages: { page: () => kit.z.object({}), start: () => 0, add: (state) => ({ kind: 'next', state }), result: () => ({}), count: () => 1 }",
    ),
    /pages\.add returned a wrong value/,
  ],
];
