// Makes skills/cloudops/SKILL.md, for hosts that load skills (https://agentskills.io), from the prompts and the instructions of a
// server with default settings.
import { readFileSync } from 'node:fs';
import { importSource } from './source.mjs';

const { operations, prompts, confirmFirst, instructionsFor, listText } = await importSource(`
  export { operations } from './src/tools/index.js';
  export { prompts, confirmFirst } from './src/mcp/prompts.js';
  export { instructionsFor } from './src/mcp/instructions.js';
  export { listText } from './src/util/human.js';`);

const account = { name: 'default', policy: { readOnly: false }, confirm: 'ask' };
const [about, reading, changing, ...rules] = instructionsFor(operations, { all: [account], areNamed: false }).split(
  '\n',
);

const lowerCase = (text) => text.charAt(0).toLowerCase() + text.slice(1);
const changes = operations.filter(({ change }) => change !== undefined);
const finder = operations.find(({ name }) => name === 'list_multipart_uploads');
const check = prompts.find(({ tool }) => tool === 'list_parts');

const description =
  'Reports how far multipart uploads to object storage are, and plans changes of a cloud and carries them out with the consent of the ' +
  'user, with the tools of the MCP server cloudops-mcp. Use it when the user asks for an upload, its progress or its missing parts, or ' +
  `wants to ${listText(
    changes.map(({ title }) => lowerCase(title)),
    'or',
  )}.`;

const numbered = (steps) => steps.map((step, index) => `${index + 1}. ${step}`).join('\n');

/** Returns the skill. The values of its frontmatter are quoted as JSON, which is also YAML. */
export function skillDocument() {
  const { license, version } = JSON.parse(readFileSync('package.json', 'utf8'));
  return `---
name: cloudops
description: ${JSON.stringify(description)}
license: ${license}
compatibility: "Needs a host that is connected to the MCP server cloudops-mcp."
metadata:
  version: ${JSON.stringify(version)}
---

# Work with cloudops-mcp

${about} A server has the tools that its settings allow. Its own instructions come with the connection: where they differ, they count.

## Report an upload

${reading} If the upload ID is not known, call \`${finder.name}\`: it ${lowerCase(finder.description.split(/[.:] /)[0])}.

The arguments of \`${check.tool}\`:

${Object.entries(check.args)
  .map(([name, { description, required }]) => `- \`${name}\`: ${description}${required ? '' : ', if known'}`)
  .join('\n')}

${numbered(check.steps)}

## Carry out a change

${changing}

${numbered(confirmFirst)}

## Always

${rules.map((rule) => `- ${rule}`).join('\n')}
`;
}
