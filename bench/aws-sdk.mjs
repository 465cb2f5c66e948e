// Lists parts with @aws-sdk/client-s3: ten pages for the line "ten", one part for any other line. Answers each line with the
// SDK's result as one line of JSON. node aws-sdk.mjs <module> <endpoint>
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

const [module, endpoint] = process.argv.slice(2);
const { ListPartsCommand, S3Client } = (await import(pathToFileURL(module))).default;
const credentials = { accessKeyId: 'AKIDBENCH', secretAccessKey: 'bench' };
const client = new S3Client({ endpoint, region: 'jp-east-1', credentials, forcePathStyle: true });
const list = (more) => client.send(new ListPartsCommand({ Bucket: 'b', Key: 'k', UploadId: 'u', ...more }));

async function tenPages() {
  const pages = [];
  while (pages.length < 10) pages.push(await list({ PartNumberMarker: pages.at(-1)?.NextPartNumberMarker }));
  return pages.flatMap(({ Parts }) => Parts);
}

for await (const line of createInterface({ input: process.stdin })) {
  const parts = line === 'ten' ? await tenPages() : (await list({ MaxParts: 1, PartNumberMarker: '9000' })).Parts;
  process.stdout.write(`${JSON.stringify(line === 'ten' ? parts.length : parts)}\n`);
}
