// Bundles with rolldown. Its warnings end a build like its errors.
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const lines = fileURLToPath(new URL('../lines.ts', import.meta.url));

/** Bundles by rolldown's options. Resolves with the files, the entry's first. */
export async function bundle(options) {
  const onLog = (level, log, handle) => handle(level === 'warn' ? 'error' : level, log);
  // tsconfig.json has no effect on the code, and the image is built without it.
  const { output } = await build({ ...options, tsconfig: false, onLog });
  return output;
}

/** Bundles a module of these lines into one file. Its imports start at the root of the repository. */
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
