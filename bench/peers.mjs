// The servers and libraries that the benches compare with. npm installs them into a temporary folder, not into our dependencies.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const versions = {
  '@modelcontextprotocol/server-filesystem': '2026.8.31',
  '@modelcontextprotocol/server-everything': '2026.8.31',
  '@aws-sdk/client-s3': '3.1169.0',
  aws4: '1.13.2',
};

/** Installs missing peers. Returns their versions, and the commands and functions that start or load them. */
export function installPeers() {
  const folder = join(tmpdir(), 'cloudops-bench-peers');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ private: true, dependencies: versions }));
  const options = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline', '--silent'];
  execFileSync('npm', ['install', ...options], { cwd: folder, stdio: 'inherit' });
  const require = createRequire(join(folder, 'package.json'));
  const path = (name, file) => join(folder, 'node_modules', name, file);
  return {
    versions,
    load: require,
    filesystem: [path('@modelcontextprotocol/server-filesystem', 'dist/index.js'), folder],
    everything: [path('@modelcontextprotocol/server-everything', 'dist/index.js'), 'stdio'],
    awsSdk: require.resolve('@aws-sdk/client-s3'),
  };
}
