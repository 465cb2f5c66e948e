// Lists the packages in the bundle by the paths of its modules. Writes licence texts for people and an SBOM for machines.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const readJson = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** Packages that a library has bundled itself, without a package.json. A comment at the start of their code names them. */
const bundledAlready = {
  'content-type': { license: 'MIT', author: 'Douglas Christopher Wilson' },
};

const mit = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Returns the packages in the bundle, sorted and without duplicates. */
function packagesIn(modules) {
  const found = modules.flatMap((file) => {
    const folder = /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0];
    return folder === undefined ? [] : [installed(folder), ...inside(file)];
  });
  const unique = new Map(found.map((one) => [`${one.name}@${one.version}`, one]));
  return [...unique.keys()].sort().map((key) => unique.get(key));
}

function installed(folder) {
  const { name, version, license, author } = readJson(`${folder}/package.json`);
  if (typeof license !== 'string') throw new Error(`${name} names no licence.`);
  const texts = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)/i.test(file));
  const text = texts.map((file) => readFileSync(`${folder}/${file}`, 'utf8').replaceAll('\r\n', '\n').trim());
  return { name, version, license, text: text.join('\n\n') || standardText(name, license, author?.name ?? author) };
}

function inside(file) {
  const regions = readFileSync(file, 'utf8').matchAll(/^\/\/#region .*\/\.pnpm\/([^/\n]+?)@(\d[^_/\n]*)/gm);
  return [...regions].map(([, flat, version]) => {
    const name = flat.replace('+', '/');
    const { license, author } = bundledAlready[name] ?? {};
    if (license === undefined) throw new Error(`${name}, inside ${dirname(file)}, has no entry in bundledAlready.`);
    return { name, version, license, text: standardText(name, license, author) };
  });
}

/** Returns the licence text for a package without its own text. */
function standardText(name, license, author = `the authors of ${name}`) {
  if (license === 'Apache-2.0') return readFileSync('LICENSE', 'utf8').trim();
  if (license !== 'MIT') throw new Error(`${name} comes without the text of its licence, ${license}.`);
  return `Copyright (c) ${author.replace(/ *[<(].*/, '')}\n\n${mit}`;
}

function notices(packages) {
  const byText = new Map();
  for (const one of packages) byText.set(one.text, [...(byText.get(one.text) ?? []), one]);
  // Puts similar texts next to each other, because gzip looks back no further than 32 KiB.
  const alike = [...byText].sort(([one], [other]) => other.length - one.length);
  const sections = alike.map(([text, sharing]) => {
    const names = sharing.map(({ name, version, license }) => `${name} ${version} (${license})`);
    return `${names.join('\n')}\n\n${text}\n`;
  });
  const rule = `\n${'-'.repeat(80)}\n\n`;
  return `cloudops-mcp contains code of these packages, under these licences.\n${rule}${sections.join(rule)}`;
}

/** Returns an SBOM in CycloneDX 1.6, without serial number and time, so that the same bundle gives the same file. */
function sbom({ name, version, license, description }, packages) {
  const component = (type, one) => ({
    type,
    'bom-ref': purl(one),
    name: one.name,
    version: one.version,
    ...(one.description !== undefined && { description: one.description }),
    licenses: [/ (OR|AND) /.test(one.license) ? { expression: one.license } : { license: { id: one.license } }],
    purl: purl(one),
  });
  const own = { name, version, license, description };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.6.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    version: 1,
    metadata: { component: component('application', own) },
    components: packages.map((one) => component('library', one)),
    dependencies: [{ ref: purl(own), dependsOn: packages.map(purl) }],
  };
}

const purl = ({ name, version }) => `pkg:npm/${name.replace('@', '%40')}@${version}`;

/** Writes THIRD-PARTY-NOTICES.txt and sbom.cdx.json for a bundle. */
export function writeThirdParties(modules, folder) {
  const packages = packagesIn(modules);
  writeFileSync(`${folder}/THIRD-PARTY-NOTICES.txt`, notices(packages));
  writeFileSync(`${folder}/sbom.cdx.json`, `${JSON.stringify(sbom(readJson('package.json'), packages))}\n`);
}
