// Where this project is on GitHub. `repository` in package.json says so, and everything else follows from it.
import { readFileSync } from 'node:fs';

const { repository, version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));

const [, path] = /^git\+https:\/\/github\.com\/([\w-]+\/[\w.-]+)\.git$/.exec(repository.url) ?? [];
if (path === undefined) throw new Error(`package.json names no repository on GitHub: ${repository.url}`);

/** The page of the repository. */
export const repositoryUrl = `https://github.com/${path}`;

/** The name in the MCP registry, which gives a name to whoever may push to the repository. */
export const registryName = `io.github.${path}`;

/** What comes before the path of a page, and of a file as it is, in this release. They stay when the project goes on. */
export const releasePage = `${repositoryUrl}/blob/v${version}/`;
export const releaseFile = `https://raw.githubusercontent.com/${path}/v${version}/`;
