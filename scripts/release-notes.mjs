// Prints the section of CHANGELOG.md for a version. Run it with node scripts/release-notes.mjs v0.1.0. Fails unless the tag is the
// version of package.json, the changelog gives it a date, and package.json names the repository of the release.
import { readFileSync } from 'node:fs';
import { repositoryUrl } from './repository.mjs';

const tag = process.argv[2];
const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
if (tag !== `v${version}`) throw new Error(`The tag is ${tag}, package.json says ${version}.`);
// npm compares the repository in package.json with the repository that built a package with provenance.
const { GITHUB_SERVER_URL, GITHUB_REPOSITORY } = process.env;
if (GITHUB_REPOSITORY !== undefined && repositoryUrl !== `${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}`)
  throw new Error(`package.json names ${repositoryUrl}, this is ${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}.`);

const changelog = readFileSync(new URL('../CHANGELOG.md', import.meta.url), 'utf8');
const sections = changelog.split(/^## /m).slice(1);
const [heading, ...lines] = (sections.find((section) => section.startsWith(`${version} `)) ?? '').split('\n');
if (!/ — \d{4}-\d\d-\d\d$/.test(heading)) throw new Error(`CHANGELOG.md has no heading "## ${version} — YYYY-MM-DD".`);
console.log(lines.join('\n').trim());
