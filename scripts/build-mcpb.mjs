// Makes build/cloudops-mcp-<version>.mcpb for Claude Desktop: the npm package with manifest.json and icon.png, checked and packed
// by the official tool.
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync } from 'node:fs';

const mcpb = (...args) => execFileSync('npx', ['-y', '@anthropic-ai/mcpb@2.1.2', ...args], { stdio: 'inherit' });

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
// Skips scripts, because the bundle has just been built.
const [{ files }] = JSON.parse(
  execFileSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], { encoding: 'utf8' }),
);

rmSync('build', { recursive: true, force: true });
for (const path of [...files.map((file) => file.path), 'manifest.json', 'icon.png'])
  cpSync(path, `build/bundle/${path}`);
mcpb('validate', 'build/bundle/manifest.json');
mcpb('pack', 'build/bundle', `build/cloudops-mcp-${version}.mcpb`);
