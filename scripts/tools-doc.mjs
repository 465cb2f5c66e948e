// Writes docs/TOOLS.md from the operations, the tools and prompts of manifest.json, and the names and versions of manifest.json and
// server.json: npm run docs
// The example answers are what the built server really says on its sandbox, at a fixed time. With --check nothing is
// written; the exit code says whether both are current.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { importSource } from './source.mjs';

const { operations, prompts, promptText, inputJsonSchema, Refusal, refusalFailure, remedyFor } = await importSource(`
  export { operations } from './src/tools/index.js';
  export { prompts, promptText } from './src/tools/prompts.js';
  export { inputJsonSchema } from './src/tools/schema/json-schema.js';
  export { Refusal, refusalFailure } from './src/results/refusal.js';
  export { remedyFor } from './src/results/remedies.js';`);

const effects = {
  read: 'It only reads.',
  create: 'It creates resources that cost money, after consent.',
  change: 'It changes what exists, after consent.',
  delete: 'It is destructive: it removes what exists, after consent.',
};

const refusalsOf = ({ effect }) =>
  effect === 'read'
    ? ['InvalidArguments', 'NotConfigured', 'NotAllowed']
    : [
        ...[
          'InvalidArguments',
          'NotConfigured',
          'NotAllowed',
          'Declined',
          'NobodyAsked',
          'TooManyRefusals',
          'NeedsHuman',
        ],
        ...['TooLargeToShow', 'PlanRefused', 'Repeated', 'JournalUnavailable'],
      ];

/** What services of the family answer (not in the reference), with the status that goes with it. */
const serviceErrors = {
  storage: {
    NoSuchUpload: 404,
    NoSuchBucket: 404,
    AccessDenied: 403,
    SignatureDoesNotMatch: 403,
    RequestTimeTooSkewed: 403,
  },
  api: {
    'Client.InvalidParameterNotFound': 404,
    'Client.InvalidParameterDuplicate': 409,
    'Client.AuthFailure': 401,
    'Client.AuthFailurePermission': 403,
  },
};

const cell = (text) => text.replaceAll('|', '\\|').replaceAll('\n', ' ');
const table = (heads, rows) =>
  [heads, heads.map(() => '---'), ...rows].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n');
const typeNames = { string: 'text', integer: 'whole number', boolean: 'true or false', object: 'object' };
const typeOf = ({ type, items }) => (type === 'array' ? `list of ${typeNames[items.type]}` : typeNames[type]);

/** One row for every argument, at any depth. Long lists of values are put aside into `lists`. */
function argumentRows({ properties = {}, required = [] }, prefix, defaults, lists) {
  return Object.entries(properties).flatMap(([name, schema]) => {
    const path = prefix + name;
    const { items } = schema;
    const rules = [
      ...(required.includes(name) ? ['required'] : []),
      ...[schema, ...(items?.type === 'string' ? [items] : [])].flatMap((one) => rulesOf(one, lists)),
    ];
    const text = [rules.join(', '), schema.description ?? '']
      .filter((part) => part !== '')
      .join('. ')
      .replace(/^[a-z]/, (letter) => letter.toUpperCase());
    const preset = defaults.find((one) => one.path === path)?.value ?? '';
    const row = [`\`${path}\``, typeOf(schema), text, preset];
    const inner = items === undefined ? [schema, `${path}.`] : [items, `${path}[].`];
    return [row, ...argumentRows(...inner, defaults, lists)];
  });
}

function rulesOf({ enum: values, minimum, minLength, maxLength, pattern, minItems, maxItems }, lists) {
  const plural = (unit) => (unit === 'entry' ? 'entries' : `${unit}s`);
  const span = (low, high, unit) => {
    if (low === undefined && high === undefined) return [];
    if (low === high) return [low === 1 ? `exactly one ${unit}` : `exactly ${low} ${plural(unit)}`];
    if (high === undefined) return [`at least ${low} ${plural(unit)}`];
    return [low === undefined ? `at most ${high} ${plural(unit)}` : `${low} to ${high} ${plural(unit)}`];
  };
  return [
    ...(values === undefined ? [] : [named(values, lists)]),
    ...(minimum === undefined ? [] : [`at least ${minimum}`]),
    ...span(minLength, maxLength, 'character'),
    ...span(minItems, maxItems, 'entry'),
    ...(pattern === undefined ? [] : [`pattern \`${pattern}\``]),
  ];
}

function named(values, lists) {
  const text = values.map((value) => `\`${value}\``).join(', ');
  if (values.length <= 8) return values.length === 1 ? `only ${text}` : `one of ${text}`;
  if (!lists.has(text)) lists.set(text, `one of list ${String.fromCharCode(65 + lists.size)} below`);
  return lists.get(text);
}

const fenced = (language, text) => `\`\`\`${language}\n${text}\n\`\`\``;

function section(operation, answer) {
  const {
    name,
    title,
    api,
    description,
    effect,
    service,
    input,
    example,
    defaults,
    undocumented,
    elsewhere = [],
  } = operation;
  const lists = new Map();
  const rows = argumentRows(inputJsonSchema(input), '', defaults, lists);
  const errors = [
    ...refusalsOf(operation).map((code) => {
      const { summary, next } = refusalFailure('The call', new Refusal(code, []), effect !== 'read');
      return [`\`${code}\``, summary, next];
    }),
    ...Object.entries(serviceErrors[service === 'storage' ? 'storage' : 'api']).map(([code, status]) => [
      `\`${code}\``,
      `The service refused it with HTTP status ${status}.`,
      remedyFor(operation.errors, code, status),
    ]),
  ];
  return [
    `## ${name}`,
    `**${title}** (operation ${api}). ${effects[effect]}`,
    description,
    '### Arguments',
    table(['argument', 'type', 'rules', 'when absent'], rows),
    ...[...lists].map(([values, called]) => `L${called.slice('one of l'.length, -' below'.length)}: ${values}.`),
    '### Example',
    fenced('json', JSON.stringify(example, null, 2)),
    'The answer as text; `structuredContent` holds the same facts as data:',
    fenced('text', answer),
    '### Errors that matter',
    table(['code', 'what it is', 'what to do'], errors),
    '### Not documented by the API',
    undocumented.map((sentence) => `- ${sentence}`).join('\n'),
    ...(elsewhere.length === 0
      ? []
      : ['### Not possible here', elsewhere.map((sentence) => `- ${sentence}`).join('\n')]),
  ].join('\n\n');
}

/** What the built server answers to the examples. */
async function answers() {
  const state = mkdtempSync(join(tmpdir(), 'cloudops-doc-'));
  const time = Date.UTC(2026, 10, 20, 12);
  const clock = `globalThis.Date = class extends Date { constructor(...given) { super(...(given.length > 0 ? given : [${time}])); } static now() { return ${time}; } };`;
  const tools = operations.map(({ name }) => name).join(',');
  const journal = join(state, 'journal.jsonl');
  const options = ['--sandbox', '--confirm', 'off', '--log-level', 'error', '--tools', tools, '--journal', journal];
  const client = new Client({ name: 'cloudops-doc', version: '1' });
  const args = ['--import', `data:text/javascript,${encodeURIComponent(clock)}`, 'dist/main.js', ...options];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'inherit' }));
  try {
    const texts = {};
    for (const { name, example } of operations) {
      const { content, isError } = await client.callTool({ name, arguments: example });
      if (isError) throw new Error(`The example of ${name} fails:\n${content[0].text}`);
      texts[name] = content[0].text;
    }
    return texts;
  } finally {
    await client.close();
    rmSync(state, { recursive: true });
  }
}

const introduction = `# Tools

Made from the source by \`npm run docs\`. The examples are calls to the built-in sandbox (\`CLOUDOPS_SANDBOX=1\`) with
\`CLOUDOPS_CONFIRM=off\`; with the default setting, tools that create or change show their plan first.

An error names its code, whether anything may have happened (\`mayHaveHappened\`) and the next step. If a change may have
happened, its outcome is unknown: look in the console, and do not repeat it.`;

const texts = await answers();
const document = `${[introduction, ...operations.map((operation) => section(operation, texts[operation.name]))].join('\n\n')}\n`;

const manifest = JSON.parse(readFileSync('manifest.json', 'utf8'));
manifest.tools = operations.map(({ name, title }) => ({ name, description: title }));
manifest.prompts = prompts.map((prompt) => {
  const names = Object.keys(prompt.args);
  const text = promptText(prompt, Object.fromEntries(names.map((name) => [name, `\${arguments.${name}}`])));
  return { name: prompt.name, description: prompt.description, arguments: names, text };
});

// The names that only the owner can decide are in package.json alone.
const { mcpName, author, version } = JSON.parse(readFileSync('package.json', 'utf8'));
Object.assign(manifest, { version, author: { name: author } });
const server = JSON.parse(readFileSync('server.json', 'utf8'));
Object.assign(server, { name: mcpName, version });
for (const published of server.packages) published.version = version;

const parsed = (text) => JSON.stringify(JSON.parse(text));
const wanted = [
  { file: 'docs/TOOLS.md', text: document, same: (text) => text === document },
  ...Object.entries({ 'manifest.json': manifest, 'server.json': server }).map(([file, value]) => ({
    file,
    text: JSON.stringify(value),
    same: (text) => parsed(text) === JSON.stringify(value),
  })),
];
for (const { file, text, same } of wanted) {
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else if (!same(readFileSync(file, 'utf8'))) {
    console.error(`${file} is not current: run npm run docs`);
    process.exitCode = 1;
  }
}
