// Writes the JSON Schemas of the tools to src/mcp/schemas.generated.json, because generating them at every start would take too long.
// The build, the type check and the unit tests run this first.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { importSource } from './source.mjs';

const file = new URL('../src/mcp/schemas.generated.json', import.meta.url);

export default async function writeSchemas() {
  const { operations, toolArguments, toolListSchema, toolSchemas } = await importSource(`
    export { operations } from './src/tools/index.js';
    export { toolArguments } from './src/mcp/server-tools.js';
    export { toolListSchema, toolSchemas } from './src/mcp/tool-schemas.js';`);
  const schemas = Object.fromEntries([
    ...operations.map((operation) => [operation.name, toolSchemas(operation)]),
    ...Object.entries(toolArguments()).map(([name, schema]) => [name, { input: toolListSchema(schema) }]),
  ]);
  const text = `${JSON.stringify(schemas, null, 2)}\n`;
  if (text !== current()) writeFileSync(file, text);
}

function current() {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await writeSchemas();
