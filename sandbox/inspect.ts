import { showCluster, showGroup } from './catalog.js';
import type { Cloud } from './cloud.js';
import { showInstance } from './devops.js';
import { sizeOf } from './storage/records.js';

export interface Logged {
  readonly time: string;
  readonly id: string;
  /** Name of the operation, or `unknown` if none matches. */
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  /** HTTP status; 0 until the request is answered. */
  status: number;
}

const shownEntries = 100;

/** Describes the state and the last requests of a sandbox as Markdown, without secrets. Names are written as JSON strings because they may be any text. */
export function describeCloud(cloud: Cloud, endpoints: Readonly<Record<string, string>>, requests: readonly Logged[]) {
  const { buckets, uploads, objects, partsOf } = cloud.storage;
  const line = (name: unknown, ...facts: unknown[]) => `- ${JSON.stringify(name)}: ${facts.join(', ')}`;
  const quoted = (name: string, text: string) => `${name} ${JSON.stringify(text)}`;
  const sections = {
    Endpoints: list(Object.entries(endpoints), ([name, url]) => `- ${name}: ${url}`),
    Buckets: list(buckets.keys(), (name) => `- ${JSON.stringify(name)}`),
    'Multipart uploads': list(uploads.values(), ({ bucket, key, uploadId }) =>
      line(key, quoted('bucket', bucket), quoted('uploadId', uploadId), `${partsOf(uploadId).size} parts`),
    ),
    Objects: list(objects.values(), ({ bucket, key, parts }) =>
      line(key, quoted('bucket', bucket), `${sizeOf(parts)} bytes`),
    ),
    'Resource groups': list(cloud.groups.values(), (group) => line(group.name, showGroup(cloud, group).status)),
    Clusters: list(cloud.clusters.values(), (cluster) => {
      const { name, status, version } = showCluster(cloud, cluster);
      return line(name, status, `version ${version}`);
    }),
    'DevOps servers': list(cloud.instances.values(), (one) => line(one.instanceId, showInstance(cloud, one).state)),
    'Last requests': list(requests, ({ time, id, operation, status, method, url }) => {
      return `- ${time} ${id} ${operation}: ${status}, ${quoted(method, url)}`;
    }),
  };
  const about = 'A cloud on this machine, for trying. `GET /_sandbox/state` at the storage endpoint shows this text.';
  const shown = Object.entries(sections).map(([title, lines]) => `## ${title}\n\n${lines.join('\n')}\n`);
  return ['# Sandbox\n', `${about}\n`, ...shown].join('\n');
}

/** Lists the first entries, one line each, and counts the rest. */
function list<T>(entries: Iterable<T>, show: (entry: T) => string): string[] {
  const all = [...entries];
  if (all.length === 0) return ['None.'];
  const more = all.length > shownEntries ? [`- and ${all.length - shownEntries} more`] : [];
  return [...all.slice(0, shownEntries).map(show), ...more];
}
