// Makes docs/TOOLS.md from the operations. The example answers come from the built server on its sandbox, at a fixed time.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { importSource } from './source.mjs';

const { operations, argumentReference, gaps, markdownTable, Refusal, refusalFailure, remedyFor } = await importSource(`
  export { operations } from './src/tools/index.js';
  export { argumentReference, gaps } from './src/mcp/reference.js';
  export { markdownTable } from './src/util/human.js';
  export { Refusal, refusalFailure } from './src/answers/refusal.js';
  export { remedyFor } from './src/answers/remedies.js';`);

const effects = {
  read: 'It only reads.',
  create: 'It creates resources that cost money, after consent.',
  alter: 'It alters what exists, after consent.',
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

/** Errors and statuses of similar services for any operation (not in the reference). */
const serviceErrors = {
  storage: {
    NoSuchBucket: 404,
    AccessDenied: 403,
    SignatureDoesNotMatch: 403,
    RequestTimeTooSkewed: 403,
  },
  api: {
    'Client.AuthFailure': 401,
    'Client.AuthFailurePermission': 403,
  },
};

const fenced = (language, text) => `\`\`\`${language}\n${text}\n\`\`\``;

function section(operation, answer) {
  const { name, title, api, description, effect, service, example, errors: own = {} } = operation;
  const errors = [
    ...refusalsOf(operation).map((code) => {
      const { summary, next } = refusalFailure('The call', new Refusal(code, []), effect !== 'read');
      return [`\`${code}\``, summary, next.text];
    }),
    ...Object.entries(own).map(([code, remedy]) => [`\`${code}\``, 'The service refused it.', remedy]),
    ...Object.entries(serviceErrors[service === 'storage' ? 'storage' : 'api']).map(([code, status]) => [
      `\`${code}\``,
      `The service refused it with HTTP status ${status}.`,
      remedyFor(own, code, status, { api, isStorage: service === 'storage', account: '…' }).next.text,
    ]),
  ];
  return [
    `## ${name}`,
    `**${title}** (operation ${api}). ${effects[effect]}`,
    description,
    '### Arguments',
    argumentReference(operation),
    '### Example',
    fenced('json', JSON.stringify(example, null, 2)),
    'The answer as text; `structuredContent` holds the same facts as data:',
    fenced('text', answer),
    '### Errors that matter',
    markdownTable(['code', 'what it is', 'what to do'], errors),
    ...gaps(operation, '###'),
  ].join('\n\n');
}

/** Answers of the built server to the examples. */
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
      // The sandbox makes a new key each time.
      texts[name] = content[0].text.replaceAll(/SANDBOX[0-9A-F]{12}/g, 'SANDBOX…');
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

export async function toolsDocument() {
  const texts = await answers();
  return `${[introduction, ...operations.map((operation) => section(operation, texts[operation.name]))].join('\n\n')}\n`;
}
