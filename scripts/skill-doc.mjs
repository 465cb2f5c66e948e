// Makes skills/cloudops/SKILL.md, for hosts that load skills (https://agentskills.io), from the instructions of a server
// with default settings.
import { readFileSync } from 'node:fs';
import { importSource } from './source.mjs';

const { operations, instructionsFor, listText } = await importSource(`
  export { operations } from './src/tools/index.js';
  export { instructionsFor } from './src/mcp/instructions.js';
  export { listText } from './src/util/human.js';`);

const account = { name: 'default', policy: { readOnly: false }, confirm: 'ask' };
const [about, reading, changing, ...rules] = instructionsFor(operations, { all: [account], areNamed: false }).split(
  '\n',
);

const lowerCase = (text) => text.charAt(0).toLowerCase() + text.slice(1);
const changes = operations.filter(({ change }) => change !== undefined);
const finder = operations.find(({ name }) => name === 'list_multipart_uploads');

const description =
  'Reports how far multipart uploads to object storage are, and plans changes of a cloud and carries them out with the consent of the ' +
  'user, with the tools of the MCP server cloudops-mcp. Use it when the user asks for an upload, its progress or its missing parts, or ' +
  `wants to ${listText(
    changes.map(({ title }) => lowerCase(title)),
    'or',
  )}.`;

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

The arguments of \`list_parts\`:

- \`bucket\`: Bucket
- \`object\`: Object key
- \`uploadId\`: Upload ID
- \`expectedBytes\`: Size of the whole object in bytes, if known
- \`expectedParts\`: Number of parts of the whole object, if known

1. Call the tool with these arguments and the view "summary".
2. Report in a few sentences how far the upload is, what is missing, how fast it goes and when it will be done.
3. Say so if it has stopped, or if numbers are missing.

## Carry out a change

${changing}

1. Ask for everything that is missing and that you cannot know; never guess names, IDs, versions or keys.
2. Call the tool. If it answers with a plan, show it: what will happen, the request, the defaults and the warnings. planOnly: true is for
   users who only want to look.
3. Carry it out only after a clear yes to exactly that plan.
4. Afterwards report the outcome and the request IDs. If the outcome is unknown, do not call again.

## Always

${rules.map((rule) => `- ${rule}`).join('\n')}
`;
}
