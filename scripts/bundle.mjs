// Bundles with rolldown. A warning fails the build.
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const lines = fileURLToPath(new URL('../lines.ts', import.meta.url));

/** Returns the bundled files, the entry first. */
export async function bundle(options) {
  const onLog = (level, log, handle) => handle(level === 'warn' ? 'error' : level, log);
  // The container image is built without tsconfig.json, which has no effect on the code.
  const { output } = await build({ ...options, tsconfig: false, onLog });
  return output;
}

/** Bundles a module, given as text, into one file. Its imports are relative to the root of the repository. */
export async function bundleLines(contents, { output, ...options } = {}) {
  const plugin = {
    name: 'lines',
    resolveId: (id) => (id === lines ? id : undefined),
    load: (id) => (id === lines ? contents : undefined),
  };
  const [{ code }] = await bundle({
    ...options,
    input: lines,
    plugins: [plugin],
    write: false,
    output: { ...output, codeSplitting: false },
  });
  return code;
}
