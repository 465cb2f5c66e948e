// Prints server.json as the MCP registry gets it: with the hash of the bundle in build/, and the image by its digest, which nobody
// knows before both are built. Run it with node scripts/registry-entry.mjs sha256:…
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';

const [digest = ''] = process.argv.slice(2);
if (!/^sha256:[0-9a-f]{64}$/.test(digest)) throw new Error(`"${digest}" is not the digest of an image.`);

const entry = JSON.parse(readFileSync('server.json', 'utf8'));
for (const published of entry.packages) {
  const { registryType, identifier } = published;
  if (registryType === 'oci') published.identifier = identifier.replace(/:[^:/]+$/, `@${digest}`);
  if (registryType === 'mcpb') {
    const bundle = readFileSync(`build/${basename(identifier)}`);
    published.fileSha256 = createHash('sha256').update(bundle).digest('hex');
  }
}
console.log(JSON.stringify(entry, null, 2));
