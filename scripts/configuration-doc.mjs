// Makes docs/CONFIGURATION.md from the table of settings.
import { importSource } from './source.mjs';

const { helpOf, markdownTable, optionName, sections, variableName } = await importSource(`
  export { helpOf, optionName, sections, variableName } from './src/config/settings.js';
  export { markdownTable } from './src/util/human.js';`);

const introduction = `# Configuration

This page is generated from the table of settings by \`npm run docs\`. \`cloudops-mcp --help\` prints the same.

A setting is an environment variable or a command-line option, and the option wins: \`CLOUDOPS_READ_ONLY=1\` is \`--read-only\`,
\`CLOUDOPS_REGION=jp-west-2\` is \`--region jp-west-2\`. A variable that is empty counts as not set. Switches take \`1\`, \`true\`, \`yes\`
or \`on\`, and \`0\`, \`false\`, \`no\` or \`off\`. A misspelt name stops the start with the name that was probably meant, and all problems
are reported at once.

Secrets are never options, because everybody on the machine can read the command line of a process. Where the table says
"also …_FILE", the value can come from a file instead: \`CLOUDOPS_SECRET_ACCESS_KEY_FILE=/run/secrets/cloudops\`, or
\`--secret-access-key-file /run/secrets/cloudops\`.

The resource \`cloudops://configuration\` and \`cloudops-mcp doctor\` show what is set and where it comes from, without secrets.
`;

const otherVariables = `## Variables of other programs

| variable | meaning |
|---|---|
| \`HTTPS_PROXY\`, \`HTTP_PROXY\`, \`NO_PROXY\` | proxy for requests to the endpoints, and hosts reached without it; in upper or lower case |
| \`NODE_EXTRA_CA_CERTS\` | PEM file of certificate authorities that Node trusts besides its own |
| \`NODE_TLS_REJECT_UNAUTHORIZED\` | \`0\` accepts any certificate: the server logs a warning when it starts |
| \`OTEL_EXPORTER_OTLP_ENDPOINT\` and the like | traces, see [Deploy](DEPLOY.md) |
| \`XDG_STATE_HOME\`, or \`LOCALAPPDATA\` on Windows | folder of the default journal: \`cloudops-mcp/journal.jsonl\` in it, \`journal-sandbox.jsonl\` for the sandbox |
| \`XDG_CACHE_HOME\`, or \`LOCALAPPDATA\` on Windows | folder in which Node 22.1 and newer keeps compiled code, so that the next start is faster |
| \`NO_COLOR\` | no colours on a terminal |
`;

export function configurationDocument() {
  const parts = Object.entries(sections).map(([title, rows]) => {
    const lines = Object.entries(rows).map(([name, row]) => [
      `\`${variableName(name)}\``,
      row.secret ? '' : `\`${optionName(name)}\``,
      helpOf(row),
    ]);
    return `## ${title}\n\n${markdownTable(['variable', 'option', 'meaning'], lines)}\n`;
  });
  return [introduction, ...parts, otherVariables].join('\n');
}
