import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import * as z from 'zod';

const { outputs } = z
  .object({
    outputs: z.record(
      z.string(),
      z.object({
        bytes: z.number(),
        entryPoint: z.string().optional(),
        imports: z.array(z.object({ path: z.string(), kind: z.string() })),
        inputs: z.record(z.string(), z.object({ bytesInOutput: z.number() })),
      }),
    ),
  })
  .parse(JSON.parse(readFileSync('dist/metafile.json', 'utf8')));

/** The files that are loaded with the named modules, that is, without what they load later. */
function loadedWith(modules: readonly string[]): string[] {
  const loaded = new Set<string>();
  const load = (file: string) => {
    if (loaded.has(file)) return;
    loaded.add(file);
    for (const { path, kind } of outputs[file]?.imports ?? [])
      if (kind !== 'dynamic-import' && path in outputs) load(path);
  };
  for (const module of modules) {
    const file = Object.keys(outputs).find((name) => outputs[name]?.entryPoint === module);
    if (file === undefined) throw new Error(`${module} is not loaded as a file of its own.`);
    load(file);
  }
  return [...loaded];
}

const modulesIn = (files: readonly string[]) =>
  files.flatMap((file) =>
    Object.entries(outputs[file]?.inputs ?? {}).flatMap(([module, { bytesInOutput }]) =>
      bytesInOutput > 0 ? [module] : [],
    ),
  );

/** What a host waits for: from the start to `tools/list` over stdio. */
const start = loadedWith(['src/main.ts', 'src/cli/run.ts', 'src/cli/stdio.ts']);

test.each([
  ['an XML parser', /node_modules\/fast-xml-parser/],
  ['signing', /node_modules\/@(smithy|aws-crypto)|src\/signing\/sign/],
  ['an HTTP client', /node_modules\/undici|scripts\/undici/],
  ['the sandbox', /^sandbox\//],
  ['a database', /node_modules\/pg/],
  ['telemetry', /node_modules\/@opentelemetry/],
  ['the HTTP server', /src\/serving\/http/],
])('the start loads without %s, and something else loads it', (_what, pattern) => {
  expect(modulesIn(start).filter((module) => pattern.test(module))).toEqual([]);
  expect(modulesIn(Object.keys(outputs)).some((module) => pattern.test(module))).toBe(true);
});

test('the start is small: one import can bring all of a library along', () => {
  expect(start.reduce((bytes, file) => bytes + (outputs[file]?.bytes ?? 0), 0)).toBeLessThan(750_000);
});

test('functions keep their names, so that a stack trace says something', () => {
  const text = start.map((file) => readFileSync(file, 'utf8')).join('\n');
  expect(text).toContain('function runCommandLine(');
});
