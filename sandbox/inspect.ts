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
  const line = (name: unknown, ...facts: unknown[]) => `- ${JSON.stringify(name)}: ${facts.join(', ')}`;
  const quoted = (name: string, text: string) => `${name} ${JSON.stringify(text)}`;
  const sections: Readonly<Record<string, readonly string[]>> = {
    Endpoints: Object.entries(endpoints).map(([name, url]) => `- ${name}: ${url}`),
    Buckets: [...buckets.keys()].map((name) => `- ${JSON.stringify(name)}`),
    'Multipart uploads': [...uploads.values()].map(({ bucket, key, uploadId, parts }) =>
      line(key, quoted('bucket', bucket), quoted('uploadId', uploadId), `${parts().size} parts`),
    ),
    Objects: [...objects.values()].map(({ bucket, key, parts }) =>
      line(key, quoted('bucket', bucket), `${sizeOf(parts)} bytes`),
    ),
    'Resource groups': [...catalog.groups.values()].map((group) => line(group.name, showGroup(cloud, group).status)),
    Clusters: catalog.clusters
      .map((cluster) => showCluster(cloud, cluster))
      .map(({ name, status, version }) => line(name, status, `version ${version}`)),
    'DevOps servers': devops.instances.map((one) => line(one.instanceId, showInstance(cloud, one).state)),
    'Last requests': requests.map(
      ({ time, id, operation, status, method, url }) =>
        `- ${time} ${id} ${operation}: ${status}, ${quoted(method, url)}`,
    ),
  };
  const shown = Object.entries(sections).map(([title, lines]) => {
    const more = lines.length > shownEntries ? [`- and ${lines.length - shownEntries} more`] : [];
    return [`## ${title}\n`, ...(lines.length > 0 ? lines.slice(0, shownEntries) : ['None.']), ...more, ''].join('\n');
  });
  const about = 'A cloud on this machine, for trying. `GET /_sandbox/state` at the storage endpoint shows this text.';
  return ['# Sandbox\n', `${about}\n`, ...shown].join('\n');
}
