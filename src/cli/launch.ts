import { realpathSync } from 'node:fs';
import { delimiter, dirname, join, sep } from 'node:path';
import type { Terminal } from './command.js';

/** Whether `npx -y cloudops-mcp` can install the package: the one place to change when it is published. */
const isPublished = false;

/** The command that starts this very server again, for a client that runs it elsewhere: program and arguments. */
export function launchCommand(
  { script, env, platform }: Pick<Terminal, 'script' | 'env' | 'platform'>,
  published = isPublished,
): readonly string[] {
  if (isOnPath(script, env.PATH ?? env.Path ?? '', platform)) return ['cloudops-mcp'];
  const byNpx = script.split(sep).includes('_npx');
  return byNpx && published ? ['npx', '-y', 'cloudops-mcp'] : ['node', script];
}

/** Whether a shell that is given `cloudops-mcp` runs this script: after a global installation or `npm link`. */
function isOnPath(script: string, path: string, platform: NodeJS.Platform): boolean {
  // npm adds folders of packages to the PATH of what it runs. Clients do not have them.
  const folders = path
    .split(delimiter)
    .filter((folder) => folder !== '' && !/node_modules[\\/]\.bin[\\/]?$/.test(folder));
  return folders.some((folder) => {
    // On Windows, npm puts a script beside the folder of global packages instead of a link to one of them.
    if (platform === 'win32') return dirname(dirname(script)) === join(folder, 'node_modules', 'cloudops-mcp');
    try {
      return realpathSync(join(folder, 'cloudops-mcp')) === script;
    } catch {
      return false;
    }
  });
}
