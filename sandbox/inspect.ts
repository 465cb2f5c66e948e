import { showCluster, showGroup } from './catalog.js';
import type { Cloud } from './cloud.js';
import { showInstance } from './devops.js';
import { sizeOf } from './storage/records.js';

export interface Logged {
  readonly time: string;
  readonly id: string;
  /** Name of the operation, or `unknown` if the sandbox has no such operation. */
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  /** HTTP status of the answer; 0 until there is one. */
  status: number;
}

const shownEntries = 100;

/** Describes the state and the last requests of a sandbox as Markdown, without secrets. `endpoints` are URLs by the name of their API. */
export function describeCloud(
  cloud: Cloud,
  endpoints: Readonly<Record<string, string>>,
  requests: readonly Logged[],
): string {
  const groups = [...cloud.groups.values()].map((group) => showGroup(cloud, group));
  const clusters = [...cloud.clusters.values()].map((cluster) => showCluster(cloud, cluster));
  const servers = [...cloud.instances.values()].map((instance) => showInstance(cloud, instance));
  const sections: readonly (readonly [title: string, lines: readonly string[]])[] = [
    ['Endpoints', linesOf(Object.entries(endpoints), ([name, url]) => `- ${name}: ${url}`)],
    ...storageSections(cloud),
    ['Resource groups', linesOf(groups, ({ name, status }) => line(name, status))],
    ['Clusters', linesOf(clusters, ({ name, status, version }) => line(name, status, `version ${version}`))],
    ['DevOps servers', linesOf(servers, ({ instanceId, state }) => line(instanceId, state))],
    ['Last requests', linesOf(requests, requestLine)],
  ];

  return [
    '# Sandbox\n',
    'A cloud on this machine, for trying. `GET /_sandbox/state` at the storage endpoint shows this text.\n',
    ...sections.map(([title, lines]) => `## ${title}\n\n${lines.join('\n')}\n`),
  ].join('\n');
}

function storageSections({ storage }: Cloud): [title: string, lines: readonly string[]][] {
  const { buckets, uploads, objects, partsOf } = storage;
  return [
    ['Buckets', linesOf(buckets.keys(), (name) => `- ${JSON.stringify(name)}`)],
    [
      'Multipart uploads',
      linesOf(uploads.values(), ({ bucket, key, uploadId }) =>
        line(key, quoted('bucket', bucket), quoted('uploadId', uploadId), `${partsOf(uploadId).size} parts`),
      ),
    ],
    [
      'Objects',
      linesOf(objects.values(), ({ bucket, key, parts }) =>
        line(key, quoted('bucket', bucket), `${sizeOf(parts)} bytes`),
      ),
    ],
  ];
}

const requestLine = ({ time, id, operation, status, method, url }: Logged) =>
  `- ${time} ${id} ${operation}: ${status}, ${quoted(method, url)}`;

/** A line such as `- "demo-group": provisioned`. The name is written as a JSON string, because it may contain line breaks. */
const line = (name: unknown, ...facts: readonly unknown[]) => `- ${JSON.stringify(name)}: ${facts.join(', ')}`;

const quoted = (name: string, text: string) => `${name} ${JSON.stringify(text)}`;

/** Describes the first `shownEntries` entries, one per line, and says in a last line how many more there are. */
function linesOf<T>(entries: Iterable<T>, lineOf: (entry: T) => string): string[] {
  const all = [...entries];
  if (all.length === 0) return ['None.'];
  const lines = all.slice(0, shownEntries).map(lineOf);
  if (all.length > shownEntries) lines.push(`- and ${all.length - shownEntries} more`);
  return lines;
}
