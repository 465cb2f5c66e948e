// Measures the built server beside the S3 client that most programs use: npm run bench [-- --json]
// Figures are medians of one run on one machine; only the ratios mean anything elsewhere.
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { ListPartsCommand, S3Client } from '@aws-sdk/client-s3';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';

const rounds = 21;
const serverPath = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const tokens = (value) => encode(typeof value === 'string' ? value : JSON.stringify(value)).length;
const median = (values) => values.toSorted((a, b) => a - b)[values.length >> 1];
async function timed(work) {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

/** Ten pages of 1,000 parts, answered from memory. */
function startStore() {
  const page = (from) => {
    const parts = Array.from({ length: 1000 }, (_, index) => {
      const etag = (from + index).toString(16).padStart(32, '0');
      return `<Part><PartNumber>${from + index}</PartNumber><LastModified>2026-11-20T11:31:14.651Z</LastModified><ETag>&quot;${etag}&quot;</ETag><Size>8388608</Size></Part>`;
    });
    return `<?xml version="1.0" encoding="UTF-8"?><ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Bucket>b</Bucket><Key>k</Key><UploadId>u</UploadId><IsTruncated>${from < 9001}</IsTruncated><NextPartNumberMarker>${from + 999}</NextPartNumberMarker>${parts.join('')}</ListPartsResult>`;
  };
  const pages = Array.from({ length: 10 }, (_, index) => page(index * 1000 + 1));
  const store = createServer((request, response) => {
    const marker = Number(/part-number-marker=(\d+)/.exec(request.url)?.[1] ?? 0);
    response.setHeader('content-type', 'application/xml');
    response.end(pages[Math.floor(marker / 1000)]);
  });
  return new Promise((resolve) => store.listen(0, '127.0.0.1', () => resolve(store)));
}

/** Peak and present memory of a process in MiB; Linux only. */
function memory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const field = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) / 1024;
  return { peak: field('VmHWM'), now: field('VmRSS') };
}

const store = await startStore();
const endpoint = `http://127.0.0.1:${store.address().port}`;
const keys = { accessKeyId: 'AKIDBENCH', secretAccessKey: 'bench' };
const sdk = new S3Client({ endpoint, region: 'jp-east-1', credentials: keys, forcePathStyle: true });
const tenCommands = async () => {
  let marker;
  for (let count = 0; count < 10; count += 1) {
    const page = await sdk.send(
      new ListPartsCommand({ Bucket: 'b', Key: 'k', UploadId: 'u', PartNumberMarker: marker }),
    );
    marker = page.NextPartNumberMarker;
  }
};

const transport = new StdioClientTransport({
  command: process.execPath,
  args: [serverPath, '--log-level', 'warn', '--storage-headers', 'amz'],
  env: {
    ...process.env,
    CLOUDOPS_STORAGE_URL: endpoint,
    CLOUDOPS_ACCESS_KEY_ID: keys.accessKeyId,
    CLOUDOPS_SECRET_ACCESS_KEY: keys.secretAccessKey,
  },
});
const client = new Client({ name: 'bench', version: '1' });
await client.connect(transport);
const list = (args) =>
  client.callTool({ name: 'list_parts', arguments: { bucket: 'b', object: 'k', uploadId: 'u', ...args } });

const { tools } = await client.listTools();
await list({ maxParts: 1, partNumberMarker: 9000 });
const idle = process.platform === 'linux' ? memory(transport.pid).now : Number.NaN;
const answer = await list({});
const peak = process.platform === 'linux' ? memory(transport.pid).peak : Number.NaN;

await tenCommands();
const ours = [];
const theirs = [];
for (let round = 0; round < rounds; round += 1) {
  ours.push(await timed(() => list({})));
  theirs.push(await timed(tenCommands));
}
await client.close();
sdk.destroy();
store.close();

const figures = {
  'tools/list, tokens': { value: tokens(tools), goal: 4500 },
  ...Object.fromEntries(tools.map((tool) => [`  ${tool.name}, tokens`, { value: tokens(tool) }])),
  'summary of 10,000 parts, tokens of text': { value: tokens(answer.content[0].text), goal: 1500 },
  'summary of 10,000 parts, tokens of data': { value: tokens(answer.structuredContent), goal: 1500 },
  'ten pages of 1,000 parts, ms': { value: median(ours), beside: median(theirs), goal: 1 },
  'memory for them over the idle server, MiB': { value: peak - idle, goal: 40 },
};
const shown = (number) => (number === undefined ? '' : Number.isInteger(number) ? String(number) : number.toFixed(1));
if (process.argv.includes('--json')) console.log(JSON.stringify({ node: process.version, rounds, figures }, null, 2));
else {
  console.log(
    `Node ${process.version}, medians of ${rounds} rounds; beside: @aws-sdk/client-s3 sending ten ListParts commands`,
  );
  console.log(
    `${''.padEnd(44)}${'value'.padStart(10)}${'beside'.padStart(10)}${'ratio'.padStart(8)}${'goal'.padStart(8)}`,
  );
  for (const [name, { value, beside, goal }] of Object.entries(figures)) {
    const ratio = beside === undefined ? undefined : value / beside;
    console.log(
      `${name.padEnd(44)}${shown(value).padStart(10)}${shown(beside).padStart(10)}${(ratio?.toFixed(2) ?? '').padStart(8)}${(goal === undefined ? '' : `≤ ${goal}`).padStart(8)}`,
    );
  }
}
