import { showCluster, showGroup } from './catalog.js';
import type { Cloud } from './cloud.js';
import { showInstance } from './devops.js';
import { sizeOf } from './storage/objects.js';

/** One request, as the log keeps it. */
export interface Logged {
  readonly time: string;
  readonly id: string;
  /** `unknown` if it is for none. */
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  /** 0 as long as there is no answer. */
  status: number;
}

const shownEntries = 100;

/** What a sandbox holds and was last asked, as Markdown. No secret is in it. Names are JSON texts, as they may hold anything. */
export function describeCloud(
  cloud: Cloud,
  endpoints: Readonly<Record<string, string>>,
  requests: readonly Logged[],
): string {
  const { storage, catalog, devops } = cloud;
  const { buckets, uploads, objects } = storage.contents;
  const section = (title: string, lines: readonly string[]) => [
    ...['', `## ${title}`, '', ...(lines.length > 0 ? lines.slice(0, shownEntries) : ['None.'])],
    ...(lines.length > shownEntries ? [`- and ${lines.length - shownEntries} more`] : []),
  ];
  const line = (name: unknown, ...facts: unknown[]) => `- ${JSON.stringify(name)}: ${facts.join(', ')}`;
  const quoted = (name: string, text: string) => `${name} ${JSON.stringify(text)}`;
  return [
    '# Sandbox',
    '',
    'A cloud on this machine, for trying. `GET /_sandbox/state` at the storage endpoint shows this text.',
    ...section(
      'Endpoints',
      Object.entries(endpoints).map(([name, url]) => `- ${name}: ${url}`),
    ),
    ...section(
      'Buckets',
      [...buckets.keys()].map((name) => `- ${JSON.stringify(name)}`),
    ),
    ...section(
      'Multipart uploads',
      [...uploads.values()].map(({ bucket, key, uploadId, parts }) =>
        line(key, quoted('bucket', bucket), quoted('uploadId', uploadId), `${parts().size} parts`),
      ),
    ),
    ...section(
      'Objects',
      [...objects.values()].map(({ bucket, key, parts }) =>
        line(key, quoted('bucket', bucket), `${sizeOf(parts)} bytes`),
      ),
    ),
    ...section(
      'Resource groups',
      [...catalog.groups.values()].map((group) => line(group.name, showGroup(cloud, group).status)),
    ),
    ...section(
      'Clusters',
      catalog.clusters
        .map((cluster) => showCluster(cloud, cluster))
        .map(({ name, status, version }) => line(name, status, `version ${version}`)),
    ),
    ...section(
      'DevOps servers',
      devops.instances.map((instance) => line(instance.instanceId, showInstance(cloud, instance).state)),
    ),
    ...section(
      'Last requests',
      requests.map(
        ({ time, id, operation, status, method, url }) =>
          `- ${time} ${id} ${operation}: ${status}, ${method} ${JSON.stringify(url)}`,
      ),
    ),
    '',
  ].join('\n');
}
