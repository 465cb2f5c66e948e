// Writes what is generated from the source: docs/TOOLS.md, docs/CONFIGURATION.md, the tables between `<!-- generated: … -->` and
// `<!-- end -->` in other documents, and parts of manifest.json and server.json. With --check nothing is written, and the exit code says
// whether everything is current.
import { readFileSync, writeFileSync } from 'node:fs';
import { configurationDocument } from './configuration-doc.mjs';
import { importSource } from './source.mjs';
import { toolsDocument } from './tools-doc.mjs';

const { accountsFileSchema, toJSONSchema, operations, prompts, promptText, sandboxOperations, markdownTable } =
  await importSource(`
  export { toJSONSchema } from 'zod';
  export { accountsFileSchema } from './src/config/accounts-file.js';
  export { operations } from './src/tools/index.js';
  export { prompts, promptText } from './src/mcp/prompt-texts.js';
  export { operations as sandboxOperations } from './sandbox/dispatch.js';
  export { markdownTable } from './src/util/human.js';`);

const effects = { read: 'reads', create: 'creates', alter: 'alters', delete: 'deletes' };
const sources = { reference: 'the reference', s3: 'S3', sandbox: 'nothing else' };

/** Tables by the name in their marker. */
const tables = {
  tools: markdownTable(
    ['tool', 'what it does', 'effect'],
    operations.map(({ name, description, effect, extension }) => [
      `[\`${name}\`](docs/TOOLS.md#${name})`,
      description.split(/[.:] /)[0] + (extension === 's3' ? ' (only with `CLOUDOPS_STORAGE_HEADERS=amz`)' : ''),
      effects[effect],
    ]),
  ),
  sandbox: markdownTable(
    ['operation', 'request', 'described by'],
    sandboxOperations.map(({ name, service = 'storage', request, source = 's3' }) => [
      `\`${name}\``,
      `${service}: \`${request}\``,
      sources[source],
    ]),
  ),
};

const read = (file) => readFileSync(file, 'utf8');
const withTables = (text) =>
  text.replaceAll(/(<!-- generated: (\w+) -->\n)[\s\S]*?(?=<!-- end -->)/g, (_, marker, name) => {
    if (!Object.hasOwn(tables, name)) throw new Error(`There is no table ${name}.`);
    return `${marker}${tables[name]}\n`;
  });

const manifest = JSON.parse(read('manifest.json'));
manifest.tools = operations.map(({ name, title }) => ({ name, description: title }));
manifest.prompts = prompts.map((prompt) => {
  const names = Object.keys(prompt.args);
  const text = promptText(prompt, Object.fromEntries(names.map((name) => [name, `\${arguments.${name}}`])));
  return { name: prompt.name, description: prompt.description, arguments: names, text };
});

// Names that the owner decides are kept in package.json only.
const { mcpName, author, version } = JSON.parse(read('package.json'));
Object.assign(manifest, { version, author: { name: author } });
const server = JSON.parse(read('server.json'));
Object.assign(server, { name: mcpName, version });
for (const published of server.packages) published.version = version;

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
const wanted = {
  'docs/TOOLS.md': await toolsDocument(),
  'docs/CONFIGURATION.md': configurationDocument(),
  'docs/accounts.schema.json': json({
    title: 'Accounts of cloudops-mcp',
    ...toJSONSchema(accountsFileSchema(), { io: 'input' }),
  }),
  'README.md': withTables(read('README.md')),
  'docs/SANDBOX.md': withTables(read('docs/SANDBOX.md')),
  'manifest.json': json(manifest),
  'server.json': json(server),
};
const stale = Object.entries(wanted).filter(([file, text]) => read(file) !== text);
for (const [file, text] of stale) {
  if (!process.argv.includes('--check')) writeFileSync(file, text);
  else {
    console.error(`${file} is not current: run npm run docs`);
    process.exitCode = 1;
  }
}
