// Makes build/cloudops-mcp-<version>.mcpb for Claude Desktop from the npm package, manifest.json and icon.png, with the official tool.
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, rmSync } from 'node:fs';

const mcpb = (...args) => execFileSync('npx', ['-y', '@anthropic-ai/mcpb@2.1.2', ...args], { stdio: 'inherit' });

const { name, version } = JSON.parse(readFileSync('package.json', 'utf8'));

rmSync('build', { recursive: true, force: true });
mkdirSync('build/bundle', { recursive: true });
execFileSync('npm', ['pack', '--silent', '--pack-destination', 'build'], { stdio: 'inherit' });
execFileSync('tar', ['xzf', `build/${name}-${version}.tgz`, '--strip-components', '1', '-C', 'build/bundle']);
for (const path of ['manifest.json', 'icon.png']) cpSync(path, `build/bundle/${path}`);
mcpb('validate', 'build/bundle/manifest.json');
mcpb('pack', 'build/bundle', `build/${name}-${version}.mcpb`);
