// How everything here is bundled: with rolldown, whose warnings end a build like its errors.
import { fileURLToPath } from 'node:url';
import { build } from 'rolldown';

const lines = fileURLToPath(new URL('../lines.ts', import.meta.url));

/** Bundles what rolldown's options say. Answers with the files, the one of the entry first. */
export async function bundle(options) {
  const onLog = (level, log, handle) => handle(level === 'warn' ? 'error' : level, log);
  // Nothing of tsconfig.json changes the code, and the image is built without it.
  const { output } = await build({ ...options, tsconfig: false, onLog });
  return output;
}

/** The code of one file with a module of these lines and all that it imports; its paths start at the root of the repository. */
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
