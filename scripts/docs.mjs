// Writes all generated documents: docs/TOOLS.md, docs/CONFIGURATION.md, the parts of other documents between `<!-- generated: … -->`
// and `<!-- end -->`, the skills' versions and the first of them, parts of package.json, manifest.json and server.json, and links to the repository. With --check, it
// writes nothing, and the exit code is 1 if a document is not current.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { configurationDocument } from './configuration-doc.mjs';
import {
  bundleOfRelease,
  imageOfRelease,
  registryName,
  releaseFile,
  releasePage,
  repositoryUrl,
} from './repository.mjs';
import { skillDocument } from './skill-doc.mjs';
import { importSource } from './source.mjs';
import { toolsDocument } from './tools-doc.mjs';

const { accountsFileSchema, changeTools, toJSONSchema, operations, sandboxOperations, situations, markdownTable } =
  await importSource(`
  export { toJSONSchema } from 'zod';
  export { accountsFileSchema } from './src/config/accounts.js';
  export { changeTools } from './src/mcp/server-tools.js';
  export { operations } from './src/tools/index.js';
  export { operations as sandboxOperations } from './sandbox/dispatch.js';
  export { situations } from './eval/situations.js';
  export { markdownTable } from './src/util/human.js';`);

const effects = { read: 'reads', create: 'creates', alter: 'alters', delete: 'deletes' };

/** The form for private reports, which only the maintainers read. */
const privateReport = `${repositoryUrl}/security/advisories/new`;

/** Tables and links by the name in their marker. */
const parts = {
  tools: markdownTable(
    ['tool', 'what it does', 'effect'],
    operations.map(({ name, description, effect, extension }) => [
      `[\`${name}\`](docs/TOOLS.md#${name})`,
      description.split(/[.:] /)[0] +
        (extension === 's3' ? ' (with `CLOUDOPS_STORAGE_HEADERS=amz`, and in the built-in sandbox)' : ''),
      effects[effect],
    ]),
  ),
  sandbox: markdownTable(
    ['operation', 'request'],
    sandboxOperations.map(({ name, service = 'storage', request }) => [`\`${name}\``, `${service}: \`${request}\``]),
  ),
  'private-report': `[Write a private report](${privateReport})`,
  situations: markdownTable(
    ['situation', 'a good agent …'],
    situations.map(({ name, about }) => [name, about]),
  ),
};

const read = (file) => readFileSync(file, 'utf8');
const withParts = (file) =>
  read(file).replaceAll(/(<!-- generated: ([\w-]+) -->\n)[\s\S]*?(?=<!-- end -->)/g, (_, marker, name) => {
    if (!Object.hasOwn(parts, name)) throw new Error(`${file} asks for ${name}, which nothing makes.`);
    return `${marker}${parts[name]}\n`;
  });

const manifest = JSON.parse(read('manifest.json'));
manifest.tools = [...operations, ...changeTools].map(({ name, title }) => ({ name, description: title }));

// Only package.json states the owner's choices, and only its `repository` states the project's address.
const packageJson = JSON.parse(read('package.json'));
const { author, engines, keywords, version } = packageJson;
const homepage = `${repositoryUrl}#readme`;
const bugs = `${repositoryUrl}/issues`;
Object.assign(packageJson, { mcpName: registryName, homepage, bugs: { url: bugs } });
Object.assign(manifest, {
  version,
  author: { name: author, url: repositoryUrl },
  repository: { type: 'git', url: repositoryUrl },
  homepage,
  documentation: `${releasePage}docs/CLIENTS.md`,
  support: bugs,
  privacy_policies: [`${releasePage}docs/PRIVACY.md`],
  keywords,
});
const server = JSON.parse(read('server.json'));
Object.assign(server, {
  name: registryName,
  version,
  repository: { url: repositoryUrl, source: 'github' },
  websiteUrl: homepage,
  icons: [{ src: `${releaseFile}icon.png`, mimeType: 'image/png', sizes: ['512x512'] }],
});
manifest.compatibility.runtimes.node = engines.node;

// The entry states settings once, for npm. In the image, paths of this machine mean nothing, and the bundle's own manifest asks.
const [npmPackage] = server.packages;
npmPackage.version = version;
const { transport } = npmPackage;
const journal = {
  name: 'CLOUDOPS_JOURNAL',
  description: 'File of the journal of changes.',
  value: '/journal/journal.db',
};
server.packages = [
  npmPackage,
  {
    registryType: 'oci',
    identifier: imageOfRelease,
    runtimeHint: 'docker',
    transport,
    runtimeArguments: [
      // The image serves HTTP unless it is told otherwise.
      { type: 'named', name: '--entrypoint', value: 'node' },
      {
        type: 'named',
        name: '--mount',
        value: 'type=bind,src={journal_folder},dst=/journal',
        variables: {
          journal_folder: {
            description: 'Folder for the journal of changes, in which user 1000 may write.',
            isRequired: true,
            format: 'filepath',
          },
        },
      },
    ],
    packageArguments: [{ type: 'positional', value: '/app/dist/main.js' }],
    environmentVariables: [
      ...npmPackage.environmentVariables.filter(({ format }) => format !== 'filepath'),
      { ...journal, isRequired: false, isSecret: false },
    ],
  },
  // The release adds the hash.
  { registryType: 'mcpb', identifier: bundleOfRelease, transport },
];

const json = (value) => `${JSON.stringify(value, null, 2)}\n`;
const issueTemplates = `# Generated from package.json by npm run docs.
blank_issues_enabled: false
contact_links:
  - name: A vulnerability
    url: ${privateReport}
    about: Report it privately. Only the maintainers see it.
`;
const wanted = {
  'docs/TOOLS.md': await toolsDocument(),
  'docs/CONFIGURATION.md': configurationDocument(),
  'docs/accounts.schema.json': json({
    title: 'Accounts of cloudops-mcp',
    ...toJSONSchema(accountsFileSchema(), { io: 'input' }),
  }),
  'README.md': withParts('README.md'),
  'SECURITY.md': withParts('SECURITY.md'),
  'CODE_OF_CONDUCT.md': withParts('CODE_OF_CONDUCT.md'),
  'docs/API.md': withParts('docs/API.md'),
  'docs/SANDBOX.md': withParts('docs/SANDBOX.md'),
  '.github/ISSUE_TEMPLATE/config.yml': issueTemplates,
  'package.json': json(packageJson),
  'eval/README.md': withParts('eval/README.md'),
  ...Object.fromEntries(
    readdirSync('skills').map((name) => {
      const file = `skills/${name}/SKILL.md`;
      return [
        file,
        name === 'cloudops' ? skillDocument() : read(file).replace(/^ {2}version: .*$/m, `  version: "${version}"`),
      ];
    }),
  ),
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
