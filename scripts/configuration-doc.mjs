// Makes docs/CONFIGURATION.md from the table of settings.
import { importSource } from './source.mjs';

const { helpOf, markdownTable, sections, variableName } = await importSource(`
  export { helpOf, sections, variableName } from './src/config/settings.js';
  export { markdownTable } from './src/util/human.js';`);

const introduction = `# Configuration

\`cloudops-mcp help settings\` prints these tables, from which \`npm run docs\` generates this page.

A setting is an environment variable; \`--sandbox\` stands for \`CLOUDOPS_SANDBOX=1\`. An empty variable counts as not set. The server does not
start with a misspelt name or a wrong value. \`cloudops-mcp doctor\` shows those that are set, and the resource \`cloudops://configuration\` their origin.

With "also …_FILE", the value can come from a file: \`CLOUDOPS_SECRET_ACCESS_KEY_FILE=/run/secrets/cloudops\`.
`;

const accounts = `## Several accounts

\`CLOUDOPS_ACCOUNTS_FILE\` names a JSON file of accounts. Each field is a setting, written like \`storageUrl\` for
\`CLOUDOPS_STORAGE_URL\`; [accounts.schema.json](accounts.schema.json) lists them, and editors check the file by it:

\`\`\`json
{
  "$schema": "./node_modules/cloudops-mcp/docs/accounts.schema.json",
  "default": "staging",
  "accounts": {
    "prod": {
      "description": "live customers",
      "accessKeyIdFile": "/run/secrets/prod/id",
      "secretAccessKeyFile": "/run/secrets/prod/secret",
      "confirm": "human",
      "maxChanges": "5/1h"
    },
    "staging": { "description": "trials", "profile": "staging", "regions": ["jp-east-1"] }
  }
}
\`\`\`

What an account leaves out comes from the environment, except keys if it has any. The file itself holds no key. \`readOnly\`, \`tools\` and \`regions\` may only narrow what the environment allows, and
\`confirm\` and \`confirmDelete\` may only be stricter if the environment sets them. \`endpoints\` has the endpoints of APIs that [files of operations](MODELS.md#files) name.

Tools of several accounts have an argument \`account\`, required unless the default account is among them. \`cloudops-mcp call\` takes
\`--account\`, and \`doctor\` checks every account. Over HTTP, [scopes](DEPLOY.md#callers) name the accounts of a caller.

## Where keys come from

\`CLOUDOPS_CREDENTIAL_SOURCE\` names a platform that gives keys: \`web-identity\` (\`AWS_ROLE_ARN\`, \`AWS_WEB_IDENTITY_TOKEN_FILE\`), \`container\`
(\`AWS_CONTAINER_CREDENTIALS_…\`) or \`instance\`. Programs and services have ten seconds. Services are reached without a proxy.

A profile is read as by the AWS command line: keys, \`credential_process\`, \`sso_…\`, \`web_identity_token_file\`, \`role_arn\` with
\`source_profile\` or \`credential_source\`, and otherwise the keys of the container or, unless \`AWS_EC2_METADATA_DISABLED=true\`, of the instance. Its
storage endpoint is the first of \`AWS_ENDPOINT_URL_S3\`, \`AWS_ENDPOINT_URL\`, the section in \`services\`, and \`endpoint_url\`. With \`mfa_serial\`
or \`login_session\`, use
\`CLOUDOPS_CREDENTIAL_PROCESS='["aws", "configure", "export-credentials", "--profile", "…", "--format", "process"]'\`.

## Keys that rotate

| keys from | are looked for again |
|---|---|
| \`…_FILE\` | when a file has changed and all of them have been still for a second |
| \`CLOUDOPS_CREDENTIAL_PROCESS\` | five minutes before they expire, at most once a minute |
| \`CLOUDOPS_CREDENTIAL_SOURCE\` | five minutes before they expire |
| \`CLOUDOPS_PROFILE\` | when the profile has changed, and before they expire |

To rotate without a gap, use a profile, or write both key files within a second.

## A budget of changes

\`CLOUDOPS_MAX_CHANGES=5/1h\` lets each caller make five changes within any hour in each account; the time is 1m to 24h. Changes that
were accepted, have not ended or have an unknown outcome count. Replicas that share a journal share the budget. \`0\` only shows plans.

## Without a state key

Without \`CLOUDOPS_STATE_KEY\`, each process has a random key: no other process, and none after a restart, accepts its sessions or carries out
its plans that have secrets. Private values are sealed with a key in a file beside the journal, if it is a file.

## Replacing the state key

\`CLOUDOPS_STATE_KEY_FILE\` may hold several keys, one per line. The first is used, and all are accepted. To replace a key without refusing plans that
are under way:

1. Append the new key, and restart every replica.
2. Move it to the first line, and restart them.
3. When the plans of the old key have expired (after ten minutes or, with a page for decisions, \`CLOUDOPS_PLAN_HOURS\`), remove the old key
   and restart them. Private values that it sealed in the journal can then no longer be read.
`;

const otherVariables = `## Variables that other programs use too

| variable | meaning |
|---|---|
| \`HTTPS_PROXY\`, \`HTTP_PROXY\`, \`NO_PROXY\` | proxy for requests to the endpoints, and hosts reached without it; in upper or lower case |
| \`NODE_EXTRA_CA_CERTS\` | PEM file of certificate authorities that Node trusts besides its own |
| \`NODE_TLS_REJECT_UNAUTHORIZED\` | \`0\` accepts any certificate: the server logs a warning when it starts |
| \`OTEL_EXPORTER_OTLP_ENDPOINT\` and the like | [traces](DEPLOY.md#traces) |
| \`XDG_STATE_HOME\`, or \`LOCALAPPDATA\` on Windows | folder of the default journal: \`cloudops-mcp/journal.db\` in it, \`journal-sandbox.db\` for the sandbox |
| \`XDG_CACHE_HOME\`, or \`LOCALAPPDATA\` on Windows | folder in which Node 22.1 and newer keeps compiled code, so that the next start is faster |
| \`NO_COLOR\` | no colours on a terminal |
`;

export function configurationDocument() {
  const parts = Object.entries(sections).map(([title, rows]) => {
    const lines = Object.entries(rows).map(([name, row]) => [`\`${variableName(name)}\``, helpOf(row)]);
    return `## ${title}\n\n${markdownTable(['variable', 'meaning'], lines)}\n`;
  });
  return [introduction, ...parts, accounts, otherVariables].join('\n');
}
