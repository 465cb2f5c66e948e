// The project's addresses on GitHub, which follow from `repository` in package.json.
import { readFileSync } from 'node:fs';

const { name, repository, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const [, path] = /^git\+https:\/\/github\.com\/([\w-]+\/[\w.-]+)\.git$/.exec(repository.url) ?? [];
if (path === undefined) throw new Error(`package.json names no repository on GitHub: ${repository.url}`);

/** The page of the repository. */
export const repositoryUrl = `https://github.com/${path}`;

/** The name in the MCP registry, which requires push access to the repository. */
export const registryName = `io.github.${path}`;

/** Prefixes of the URL of a page and of a raw file in this release. The URLs stay valid after later releases. */
export const releasePage = `${repositoryUrl}/blob/v${version}/`;
export const releaseFile = `https://raw.githubusercontent.com/${path}/v${version}/`;

/** What a release publishes besides the npm package: the image, and the bundle of its page on GitHub. */
export const imageOfRelease = `ghcr.io/${path.toLowerCase()}:${version}`;
export const bundleOfRelease = `${repositoryUrl}/releases/download/v${version}/${name}-${version}.mcpb`;
