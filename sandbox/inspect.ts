import { type Api, type Fields, object, objects, parseObject } from './http.js';

/** For looking inside: what the sandbox was asked and what it holds, for people and agents. No secret is in it. */

/** One request, as the log keeps it. */
export interface Logged {
  readonly time: string;
  readonly id: string;
  /** As the tool for it is named; other operations of storage likewise. */
  readonly operation: string;
  readonly method: string;
  readonly url: string;
  /** 0 as long as there is no answer. */
  readonly status: number;
  readonly canonicalRequest?: string;
}

/** Takes what opens something out of a URL or a canonical request. */
export const withoutSecrets = (text: string): string =>
  text
    .replace(/^(x-(?:ext|amz)-[a-z0-9-]*(?:token|-key)):.*$/gm, '$1:(not shown)')
    .replace(/(x-(?:ext|amz)-(?:security-token|signature)=)[^&\s]*/gi, '$1(not shown)');

export interface Inspected {
  readonly endpoints: Readonly<Record<string, string>>;
  readonly storage: Api;
  readonly catalog: Api;
  readonly devops: Api;
  readonly requests: readonly Logged[];
}

/** Everything as Markdown, the last 20 requests included. Names are JSON texts, as they may hold anything. */
export async function describeSandbox({ endpoints, storage, catalog, devops, requests }: Inspected): Promise<string> {
  const groups = await read(catalog, '/v1/resource-groups', 'groups');
  const kube = groups.map((group) => object(object(group.configuration).kube));
  const clusters = kube.flatMap(({ adminCluster, userClusters }) => [object(adminCluster), ...objects(userClusters)]);
  const uploads = objects(object(storage.snapshot()).uploads);
  const section = (title: string, lines: readonly string[]) => [
    '',
    `## ${title}`,
    '',
    ...(lines.length > 0 ? lines : ['None.']),
  ];
  const line = (name: unknown, ...facts: unknown[]) => `- ${JSON.stringify(name)}: ${facts.join(', ')}`;
  return [
    '# Sandbox',
    '',
    'A cloud on this machine, for trying. `GET /_sandbox/state` at the storage endpoint has all of this as JSON.',
    ...section(
      'Endpoints',
      Object.entries(endpoints).map(([name, url]) => `- ${name}: ${url}`),
    ),
    ...section(
      'Multipart uploads',
      uploads.map(({ bucket, key, uploadId, parts }) =>
        line(key, `bucket ${JSON.stringify(bucket)}`, `uploadId ${JSON.stringify(uploadId)}`, `${parts} parts`),
      ),
    ),
    ...section(
      'Resource groups',
      groups.map(({ name, status }) => line(name, status)),
    ),
    ...section(
      'Clusters',
      clusters.map(({ name, status, version }) => line(name, status, `version ${version}`)),
    ),
    ...section(
      'DevOps servers',
      (await read(devops, '/v1/instances', 'instances')).map(({ instanceId, state }) => line(instanceId, state)),
    ),
    ...section(
      'Last requests',
      requests.slice(-20).map(({ time, id, operation, status }) => `- ${time} ${id} ${operation}: ${status}`),
    ),
    '',
  ].join('\n');
}

/** Records as the API shows them now. */
async function read(api: Api, path: string, field: string): Promise<readonly Fields[]> {
  const request = { method: 'GET', path, query: new Map(), headers: {}, body: Buffer.alloc(0) };
  const { body } = await api.handle(request);
  return objects(parseObject(Buffer.from(body))?.[field]);
}
