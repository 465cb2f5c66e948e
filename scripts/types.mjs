// Writes dist/types, the types of the kit. Authors of operations get them from `cloudops-mcp/operation`.
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const entry = 'operations/kit.d.ts';
const options = [
  ...['--declaration', '--emitDeclarationOnly', '--strict', '--exactOptionalPropertyTypes', '--skipLibCheck'],
  ...['--ignoreConfig', '--rootDir', 'src', '--target', 'ES2023', '--lib', 'ES2023,ES2024.String'],
  ...['--module', 'NodeNext', '--moduleResolution', 'NodeNext', '--types', 'node'],
];

/** Writes only the files that the kit's own types need, because the compiler writes the types of every module. */
export async function writeTypes() {
  const folder = mkdtempSync(join(tmpdir(), 'cloudops-types-'));
  try {
    const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
    const args = [compiler, 'src/operations/kit.ts', ...options, '--outDir', folder];
    await promisify(execFile)(process.execPath, args, { cwd: root });
    const files = new Set([join(folder, entry)]);
    for (const file of files) {
      for (const [, name] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()["'](\.[^"']+)\.js["']/g))
        files.add(join(dirname(file), `${name}.d.ts`));
      cpSync(file, join(root, 'dist', 'types', relative(folder, file)));
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}
