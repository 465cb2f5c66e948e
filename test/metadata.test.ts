import { existsSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import manifest from '../manifest.json' with { type: 'json' };
import packageJson from '../package.json' with { type: 'json' };
import server from '../server.json' with { type: 'json' };
import { consentModes } from '../src/calls/account.js';
import { settingNames, settings } from '../src/config/settings.js';
import { changeToolNames } from '../src/mcp/server-tools.js';
import { operations } from '../src/tools/index.js';

/** What package, registry and Claude Desktop are told of the server. */

const [published, image, bundle] = server.packages;
const variable = z.strictObject({
  name: z.string(),
  description: z.string(),
  isRequired: z.boolean(),
  isSecret: z.boolean(),
  default: z.string().optional(),
  placeholder: z.string().optional(),
  choices: z.array(z.string()).optional(),
  value: z.string().optional(),
  format: z.enum(['string', 'number', 'boolean', 'filepath']).optional(),
});
const variablesOf = (found: (typeof server.packages)[number] | undefined) =>
  z.array(variable).parse(found?.environmentVariables ?? []);

const settingOf = (variable: string) => {
  const name = variable.replace(/^CLOUDOPS_/, '').replace(/_FILE$/, '');
  const setting = settingNames.find((candidate) => candidate === name);
  if (setting === undefined) throw new Error(`${variable} is not a setting`);
  const { kind, secret = false, default: preset } = settings[setting];
  return { kind, preset: preset?.toString(), secret: secret && !variable.endsWith('_FILE') };
};

const [repository = ''] = packageJson.homepage.split('#');

it('one version everywhere', () => {
  expect([manifest.version, server.version, published?.version]).toEqual(Array(3).fill(packageJson.version));
});

describe('package.json', () => {
  it('names the repository once, and all else after it', () => {
    const path = repository.replace('https://github.com/', '');
    expect(packageJson.repository).toEqual({ type: 'git', url: `git+${repository}.git` });
    expect(packageJson.bugs.url).toBe(`${repository}/issues`);
    expect(packageJson.mcpName).toBe(`io.github.${path}`);
  });
});

describe('the badges of README', () => {
  const readme = readFileSync('README.md', 'utf8');

  it('name a workflow that there is, in this repository', () => {
    const [, named = '', file = ''] = /\((https:\S+)\/actions\/workflows\/([\w.]+)\/badge\.svg/.exec(readme) ?? [];
    expect(named).toBe(repository);
    expect(existsSync(`.github/workflows/${file}`)).toBe(true);
  });

  it('say the licence and the versions of Node.js that the package says', () => {
    const labels = [...readme.matchAll(/shields\.io\/badge\/(Node\.js|licence)-(\S+)-\w{6}\)/g)].map(
      ([, name, value = '']) => [name, decodeURIComponent(value).replaceAll('--', '-')],
    );
    expect(labels).toEqual([
      ['Node.js', packageJson.engines.node],
      ['licence', packageJson.license],
    ]);
  });
});

describe('server.json', () => {
  it('has the shape that the MCP registry asks for', () => {
    expect(server.$schema).toBe('https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json');
    expect(server.name).toMatch(/^[a-zA-Z0-9.-]+\/[a-zA-Z0-9._-]+$/);
    expect(server.name.length).toBeLessThanOrEqual(200);
    expect(server.description.length).toBeLessThanOrEqual(100);
    expect(server.title.length).toBeLessThanOrEqual(100);
    expect(published).toMatchObject({
      registryType: 'npm',
      identifier: packageJson.name,
      transport: { type: 'stdio' },
    });
    // An image and a bundle are of a version by their address alone: the registry refuses `version` there.
    expect(server.packages.map(({ registryType, version }) => [registryType, version])).toEqual([
      ['npm', packageJson.version],
      ['oci', undefined],
      ['mcpb', undefined],
    ]);
  });

  it('starts the image on stdin and stdout, with settings that need no file of this machine but the journal', () => {
    expect(image?.identifier).toBe(`ghcr.io/${repository.replace('https://github.com/', '')}:${packageJson.version}`);
    const entrypoint = readFileSync('Dockerfile', 'utf8').match(/^ENTRYPOINT (.*)$/m)?.[1] ?? '[]';
    const [program, , script] = z.array(z.string()).parse(JSON.parse(entrypoint));
    const [runs, mounts] = image?.runtimeArguments ?? [];
    expect([runs?.name, runs?.value, ...(image?.packageArguments?.map(({ value }) => value) ?? [])]).toEqual([
      '--entrypoint',
      program,
      script,
    ]);
    const variables = variablesOf(image);
    for (const { name } of variables) expect(settingOf(name).kind === 'path').toBe(name === 'CLOUDOPS_JOURNAL');
    const journal = variables.find(({ name }) => name === 'CLOUDOPS_JOURNAL');
    expect(mounts?.value).toBe(`type=bind,src={journal_folder},dst=${dirname(journal?.value ?? '')}`);
  });

  it('names the bundle where the release puts it, and leaves the hash to the release', () => {
    const { name, version } = packageJson;
    expect(bundle).toEqual({
      registryType: 'mcpb',
      identifier: `${repository}/releases/download/v${version}/${name}-${version}.mcpb`,
      transport: { type: 'stdio' },
    });
  });

  it('says where the source and the icon are', () => {
    expect(server.repository).toEqual({ url: repository, source: 'github' });
    expect(server.icons).toEqual([
      {
        src: `${repository.replace('github.com', 'raw.githubusercontent.com')}/v${packageJson.version}/icon.png`,
        mimeType: 'image/png',
        sizes: ['512x512'],
      },
    ]);
  });

  it('is claimed by the package', () => {
    expect(packageJson.mcpName).toBe(server.name);
  });

  it('offers every mode of consent', () => {
    const confirm = variablesOf(published).find(({ name }) => name === 'CLOUDOPS_CONFIRM');
    expect(confirm?.choices).toEqual(consentModes);
  });

  it.each(variablesOf(published))('$name is a setting, with its default, secret if it is one', (variable) => {
    const { secret, preset } = settingOf(variable.name);
    expect(variable.isSecret).toBe(secret);
    expect(variable.default).toBe(preset);
  });
});

describe('manifest.json', () => {
  const variables = Object.entries(manifest.server.mcp_config.env);
  const fields: Readonly<Record<string, { type: string; sensitive?: boolean; default?: unknown }>> =
    manifest.user_config;

  it.each(variables)('%s is a setting, asked for under its own name', (variable, value) => {
    const field = variable.replace('CLOUDOPS_', '').toLowerCase();
    expect(value).toBe(`\${user_config.${field}}`);
    const { secret, kind, preset } = settingOf(variable);
    expect(fields[field]).toMatchObject({
      type: kind === 'switch' ? 'boolean' : expect.stringMatching(/string|directory/),
    });
    expect(fields[field]?.sensitive ?? false).toBe(secret);
    // Hosts pass a field that was left empty and has no default as `${user_config.…}`, which stops the start.
    expect(fields[field]).toHaveProperty('default');
    if (preset !== undefined) expect(fields[field]?.default).toBe(preset);
  });

  it('passes on everything that it asks for', () => {
    expect(variables).toHaveLength(Object.keys(fields).length);
  });

  it('names the tools that the server has', () => {
    expect(manifest.tools.map(({ name }) => name)).toEqual([...operations.map(({ name }) => name), ...changeToolNames]);
  });

  it('starts what the package ships, on the Node that it supports', () => {
    expect(manifest.server.entry_point).toBe(packageJson.bin['cloudops-mcp']);
    expect(manifest.server.mcp_config.args).toEqual([`\${__dirname}/${manifest.server.entry_point}`]);
    expect(manifest.compatibility.runtimes.node).toBe(packageJson.engines.node);
  });

  it('says who makes it, where to ask, and what becomes of data', () => {
    expect(manifest).toMatchObject({
      manifest_version: '0.4',
      repository: { type: 'git', url: repository },
      homepage: packageJson.homepage,
      support: packageJson.bugs.url,
    });
    expect(manifest.privacy_policies).toEqual([`${repository}/blob/v${packageJson.version}/docs/PRIVACY.md`]);
    expect(existsSync('docs/PRIVACY.md')).toBe(true);
  });

  it('claims only systems that tests have run on', () => {
    expect(manifest.compatibility.platforms).toEqual(['linux']);
  });

  it('has an icon of the size that hosts ask for', () => {
    const header = readFileSync(manifest.icon).subarray(0, 24);
    expect([header.readUInt32BE(16), header.readUInt32BE(20)]).toEqual([512, 512]);
  });
});
