// Makes docs/TOOLS.md from the operations. The example answers come from the built server on its sandbox, at a fixed time.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { importSource } from './source.mjs';

const { operations, argumentReference, gaps, markdownTable } = await importSource(`
  export { operations } from './src/tools/index.js';
  export { argumentReference, gaps } from './src/mcp/reference.js';
  export { markdownTable } from './src/util/human.js';`);

const effects = {
  read: 'It only reads.',
  create: 'It creates resources, after consent.',
  alter: 'It alters what exists, after consent.',
  delete: 'It is destructive: it removes what exists, after consent.',
};

/** Only the operation knows whether what it creates costs money. */
const effectOf = ({ effect, change }) =>
  effect === 'create' && change?.costsMoney === true
    ? 'It creates resources that cost money, after consent.'
    : effects[effect];

const fenced = (language, text) => `\`\`\`${language}\n${text}\n\`\`\``;
const folded = (title, ...parts) => [`<details>\n<summary>${title}</summary>`, ...parts, '</details>'].join('\n\n');

/** The arguments of a call, folded if they would fill a screen. */
function callOf(example) {
  const text = JSON.stringify(example, null, 2);
  return text.split('\n').length > 20 ? folded('The call', fenced('json', text)) : fenced('json', text);
}

const errorTable = (rows) => markdownTable(['code', 'what it is', 'what to do'], rows);
/** The first line of an answer summarizes it. */
function section(operation, answer) {
  const { name, title, api, description, example, errors = {} } = operation;
  const own = Object.entries(errors).map(([code, advice]) => [
    `\`${code}\``,
    'The cloud refused it.',
    typeof advice === 'string' ? advice : advice.agent,
  ]);
  return [
    `## ${name}`,
    `**${title}** (operation ${api}). ${effectOf(operation)}`,
    callOf(example),
    fenced('text', answer.split('\n')[0]),
    folded('The whole answer as text', fenced('text', answer)),
    folded('What the agent reads about it', description),
    folded('Arguments', argumentReference(operation)),
    ...(own.length === 0 ? [] : [folded('Errors of this tool', errorTable(own))]),
    ...gaps(operation).map(([heading, list]) => folded(heading, list)),
  ].join('\n\n');
}

/** Returns the answers of the built server to the examples. */
async function answers() {
  const state = mkdtempSync(join(tmpdir(), 'cloudops-doc-'));
  const time = Date.UTC(2026, 10, 20, 12);
  const clock = `globalThis.Date = class extends Date { constructor(...given) { super(...(given.length > 0 ? given : [${time}])); } static now() { return ${time}; } };`;
  const tools = operations.map(({ name }) => name).join(',');
  const journal = join(state, 'journal.db');
  const env = {
    CLOUDOPS_SANDBOX: '1',
    CLOUDOPS_CONFIRM: 'off',
    CLOUDOPS_LOG_LEVEL: 'error',
    CLOUDOPS_TOOLS: tools,
    CLOUDOPS_JOURNAL: journal,
  };
  const client = new Client({ name: 'cloudops-doc', version: '1' });
  const args = ['--import', `data:text/javascript,${encodeURIComponent(clock)}`, 'dist/main.js'];
  await client.connect(new StdioClientTransport({ command: process.execPath, args, env, stderr: 'inherit' }));
  try {
    const texts = {};
    for (const { name, example } of operations) {
      const { content, isError } = await client.callTool({ name, arguments: example });
      if (isError) throw new Error(`The example of ${name} fails:\n${content[0].text}`);
      // The key of the sandbox and the IDs of changes are new each time.
      texts[name] = content[0].text.replaceAll(/(SANDBOX)[0-9A-F]{12}|(changeId: )[\w-]{22}/g, '$1$2…');
    }
    return texts;
  } finally {
    await client.close();
    rmSync(state, { recursive: true });
  }
}

const introduction = `# Tools

Each tool with one call and the first line of its answer, from the sandbox with \`CLOUDOPS_CONFIRM=off\`. The rest is folded.
\`structuredContent\` of an answer holds the same facts as its text. \`npm run docs\` makes this page from the source.

An error names its code, whether anything may have happened (\`mayHaveHappened\`) and the next step: [Troubleshooting](TROUBLESHOOTING.md).
In an installed package, \`cloudops-mcp call list_parts --help\` and the like have the same about arguments.`;

export async function toolsDocument() {
  const texts = await answers();
  return `${[introduction, ...operations.map((operation) => section(operation, texts[operation.name]))].join('\n\n')}\n`;
}
