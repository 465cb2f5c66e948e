import { createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { hostRules, loadOperationFiles } from '../../src/cli/load-operation-files.js';
import { draftFile } from '../../src/models/draft.js';
import { openModel } from '../../src/models/from-model.js';
import type { Operation } from '../../src/tools/define-operation.js';
import type { HttpRequest } from '../../src/transport/http-client.js';
import { testCaller } from '../support/caller.js';
import { type CapturedRequest, startServer } from '../support/http-server.js';
import { nifcloudModels } from './nifcloud-models.js';
import requests from './nifcloud-requests.json' with { type: 'json' };

/** Operations of NIFCLOUD's services, from the draft of a file to a call. */

const folder = mkdtempSync(join(tmpdir(), 'cloudops-nifcloud-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The operations of a file as it is drafted, by their names in the API. */
async function operationsOf(service: string, more: object = {}): Promise<ReadonlyMap<string, Operation>> {
  const path = `./${service}.json`;
  const file = join(folder, `${service}.operations.json`);
  writeFileSync(join(folder, path), JSON.stringify(Object(nifcloudModels)[service]));
  const model = await openModel(folder, path);
  const { json, leftOut } = draftFile({ model, path, operations: model.names }, hostRules(false));
  writeFileSync(file, JSON.stringify({ ...JSON.parse(json), ...more }));
  const { operations, problems } = await loadOperationFiles(file);
  expect({ leftOut, problems }).toEqual({ leftOut: [], problems: [] });
  return new Map(operations.map((operation) => [operation.api, operation]));
}

const operationNamed = async (service: string, name: string, more?: object): Promise<Operation> => {
  const operation = (await operationsOf(service, more)).get(name);
  if (operation === undefined) throw new Error(`${service} has no ${name}`);
  return operation;
};

/** The SDK's requests. */
const { accessKeyId, secretAccessKey, date, cases } = z
  .object({
    accessKeyId: z.string(),
    secretAccessKey: z.string(),
    date: z.string(),
    cases: z.array(
      z.object({
        service: z.string(),
        operation: z.string(),
        arguments: z.record(z.string(), z.unknown()),
        request: z.object({
          method: z.string(),
          url: z.string(),
          headers: z.record(z.string(), z.string()),
          body: z.string().optional(),
        }),
      }),
    ),
  })
  .parse(requests);
const credentials = { accessKeyId, secretAccessKey };
/** The region in the SDK's signatures, if it is not the first. */
const regions: Readonly<Record<string, string>> = { ess: 'east-1', 'service-activity': 'aws-global' };

const pairsOf = (form: string) => [...new URLSearchParams(form)].sort(([a], [b]) => (a < b ? -1 : 1));

/** The body, without differences that have no meaning and that no signature covers. */
const meaningOf = (service: string, body = '') => {
  if (service === 'computing') return pairsOf(body);
  return service === 'dns' ? body.replace(/^<\?xml[^>]*>/, '') : body;
};

/** `?a` and `?a=` have the same meaning and signature. */
const urlParts = (url: string) => {
  const { origin, pathname, search } = new URL(url);
  return { origin, pathname, query: pairsOf(search) };
};

describe('requests are those of the SDK, signature included', () => {
  test.each(cases)('$service $operation', async ({ service, operation: name, arguments: args, request }) => {
    const region = regions[service];
    const operation = await operationNamed(service, name, region === undefined ? {} : { region });
    const sent: HttpRequest[] = [];
    const { origin } = new URL(request.url);
    const { call, close } = testCaller('', {
      cloud: {
        endpoints: { [operation.service]: origin },
        signingServices: { storage: 's3' },
        storageHeaders: 'amz',
        credentials,
      },
      now: () => new Date(date),
      httpClient: {
        send: async (each) => {
          sent.push(each);
          return { kind: 'response', status: 200, headers: {}, body: '' };
        },
        close: async () => undefined,
      },
    });
    await call(operation, args);
    await close();

    const [{ method, path, headers, body } = { path: '' }] = sent;
    expect({ method, ...urlParts(origin + path), body: meaningOf(service, body) }).toEqual({
      method: request.method,
      ...urlParts(request.url),
      body: meaningOf(service, request.body),
    });
    expect(headers).toMatchObject(request.headers);
  });
});

/** The signature of version 2 as a service computes it from a request. */
function signatureOfForm({ method, url, headers, body }: CapturedRequest): string {
  const signed = pairsOf(body).filter(([name]) => name !== 'Signature');
  const query = signed.map((pair) => pair.map(encodeURIComponent).join('=')).join('&');
  return createHmac('sha256', secretAccessKey).update([method, headers.host, url, query].join('\n')).digest('base64');
}

/** A cloud that gives these answers in turn, and a caller for it. */
async function cloudWith(
  api: string,
  answers: readonly (readonly [status: number, body: string])[],
  options: Parameters<typeof testCaller>[1] = {},
) {
  const cloud = await startServer((_request, response, count) => {
    const [status = 500, body = ''] = answers[count - 1] ?? answers.at(-1) ?? [];
    response.writeHead(status).end(body);
  });
  const caller = testCaller('', { cloud: { endpoints: { [api]: cloud.origin }, credentials }, ...options });
  const close = async () => {
    await caller.close();
    await cloud.close();
  };
  return { ...caller, requests: cloud.requests, close };
}

describe('answers are read', () => {
  test.each<[service: string, name: string, args: object, answer: string, record: object]>([
    [
      'computing',
      'DescribeInstances',
      {},
      `<DescribeInstancesResponse xmlns="https://computing.api.nifcloud.com/api/"><requestId>r1</requestId><reservationSet>
        <item><instancesSet><item><instanceId>web1</instanceId><launchTime>2026-11-28T10:00:00.000+09:00</launchTime><weight>2</weight></item>
        <item><instanceId>web2</instanceId><launchTime/><weight/></item></instancesSet></item></reservationSet></DescribeInstancesResponse>`,
      {
        RequestId: 'r1',
        ReservationSet: [
          {
            InstancesSet: [
              { InstanceId: 'web1', LaunchTime: '2026-11-28T01:00:00.000Z', Weight: 2 },
              { InstanceId: 'web2' },
            ],
          },
        ],
      },
    ],
    [
      'dns',
      'ListHostedZones',
      {},
      `<ListHostedZonesResponse xmlns="https://route53.amazonaws.com/doc/2012-12-12/"><HostedZones><HostedZone><Name>example.com</Name>
        <ResourceRecordSetCount>3</ResourceRecordSetCount></HostedZone></HostedZones></ListHostedZonesResponse>`,
      { HostedZones: [{ Name: 'example.com', ResourceRecordSetCount: 3 }] },
    ],
    [
      'ess',
      'DeleteIdentity',
      { Identity: 'example.com' },
      '<DeleteIdentityResponse><DeleteIdentityResult>done</DeleteIdentityResult></DeleteIdentityResponse>',
      { DeleteIdentityResult: 'done' },
    ],
    [
      'nas',
      'DescribeNASInstances',
      {},
      `<DescribeNASInstancesResponse><DescribeNASInstancesResult><NASInstances><NASInstance><NASInstanceIdentifier>files</NASInstanceIdentifier>
        <AllocatedStorage>100</AllocatedStorage></NASInstance></NASInstances></DescribeNASInstancesResult></DescribeNASInstancesResponse>`,
      { NASInstances: [{ NASInstanceIdentifier: 'files', AllocatedStorage: 100 }] },
    ],
    [
      'nas',
      'DeleteNASSecurityGroup',
      { NASSecurityGroupName: 'g' },
      '<DeleteNASSecurityGroupResponse><ResponseMetadata><RequestId>r1</RequestId></ResponseMetadata></DeleteNASSecurityGroupResponse>',
      { ResponseMetadata: { RequestId: 'r1' } },
    ],
    [
      'storage',
      'GetBucketVersioning',
      { Bucket: 'photos' },
      '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>',
      { Status: 'Enabled' },
    ],
  ])('%s %s', async (service, name, args, answer, record) => {
    const operation = await operationNamed(service, name);
    const { call, close } = await cloudWith(operation.service, [[200, answer]]);
    const result = await call(operation, args);
    await close();
    expect(result).toMatchObject({ ok: true, structured: { answer: record } });
    expect(result.text).not.toMatch(/^warning:/m);
  });

  test('pages are joined', async () => {
    const page = (id: string, marker = '') =>
      `<DescribeDBInstancesResponse><DescribeDBInstancesResult><DBInstances><DBInstance><DBInstanceIdentifier>${id}</DBInstanceIdentifier></DBInstance></DBInstances>${marker}</DescribeDBInstancesResult></DescribeDBInstancesResponse>`;
    const answers = [
      [200, page('db1', '<Marker>m1</Marker>')],
      [200, page('db2')],
    ] as const;
    const { call, requests, close } = await cloudWith('rdb', answers);
    const result = await call(await operationNamed('rdb', 'DescribeDBInstances'), {});
    await close();
    expect(requests.map(({ body }) => new URLSearchParams(body).get('Marker'))).toEqual([null, 'm1']);
    expect(result).toMatchObject({
      structured: { answer: { DBInstances: [{ DBInstanceIdentifier: 'db1' }, { DBInstanceIdentifier: 'db2' }] } },
    });
  });

  test.each([
    [
      'computing',
      'DescribeInstances',
      '<Response><Errors><Error><Code>Client.InvalidParameterNotFound.Instance</Code><Message>No such server.</Message></Error></Errors><RequestID>r1</RequestID></Response>',
      'Client.InvalidParameterNotFound.Instance',
    ],
    [
      'rdb',
      'DescribeDBInstances',
      '<ErrorResponse><Error><Type>Sender</Type><Code>DBInstanceNotFound</Code><Message>No such server.</Message></Error><RequestId>r1</RequestId></ErrorResponse>',
      'DBInstanceNotFound',
    ],
    [
      'dns',
      'ListHostedZones',
      '<ErrorResponse xmlns="https://route53.amazonaws.com/doc/2012-12-12/"><Error><Type>Sender</Type><Code>NoSuchHostedZone</Code><Message>No such server.</Message></Error><RequestId>r1</RequestId></ErrorResponse>',
      'NoSuchHostedZone',
    ],
  ])('an error of %s', async (service, name, body, code) => {
    const { call, close } = await cloudWith(service, [[400, body]]);
    const { text } = await call(await operationNamed(service, name), {});
    await close();
    expect(text).toContain(`"${code}"`);
    expect(text).toContain('"No such server."');
    expect(text).toContain('r1');
  });
});

describe('a change of Computing, which signs the body with version 2', () => {
  const args = { ImageId: '283', SecurityGroup: ['web 1'], Password: 'hunter2-hunter2' };
  const made = '<RunInstancesResponse><reservationId>res-1</reservationId></RunInstancesResponse>';

  test('has a plan without signature, which a later request with another time still matches', async () => {
    const times = [new Date('2026-11-29T12:00:00Z'), new Date('2026-11-29T12:05:00Z')];
    let now = times[0];
    const { call, confirm, requests, close } = await cloudWith('computing', [[200, made]], {
      confirm: 'plan',
      now: () => now ?? new Date(),
    });
    const run = await operationNamed('computing', 'RunInstances');
    const planned = await call(run, args);
    expect(planned.text).toContain('SecurityGroup.1=web%201');
    expect(planned.text).toContain(`added to the body with the time of sending, signed as ${accessKeyId} (version 2)`);
    expect(planned.text).not.toMatch(/Timestamp|Signature=/);
    expect(planned.text).not.toContain('hunter2');

    now = times[1];
    const result = await confirm(Object(planned).structured.changeId, '283');
    await close();
    expect(result.text).toContain('res-1');
    expect(requests).toHaveLength(1);
    const [request] = requests;
    if (request === undefined) throw new Error('nothing was sent');
    const form = new URLSearchParams(request.body);
    expect(form.get('Timestamp')).toBe('2026-11-29T12:05:00Z');
    expect(form.get('Signature')).toBe(signatureOfForm(request));
  });

  test('is the same change at another time', async () => {
    let now = new Date('2026-11-29T12:00:00Z');
    const { call, requests, close } = await cloudWith('computing', [[200, made]], { now: () => now });
    const run = await operationNamed('computing', 'RunInstances');
    await call(run, args);
    now = new Date('2026-11-29T12:03:00Z');
    const again = await call(run, args);
    await close();
    expect(requests).toHaveLength(1);
    expect(again.text).toContain('allowRepeat');
  });

  test('a retry is signed again', async () => {
    let minute = 0;
    const { call, requests, close } = await cloudWith(
      'computing',
      [
        [503, ''],
        [200, '<DescribeInstancesResponse/>'],
      ],
      {
        now: () => new Date(Date.UTC(2026, 10, 29, 12, 0, minute++)),
      },
    );
    await call(await operationNamed('computing', 'DescribeInstances'), {});
    await close();
    const times = requests.map(({ body }) => new URLSearchParams(body).get('Timestamp'));
    expect(new Set(times).size).toBe(2);
    for (const request of requests)
      expect(new URLSearchParams(request.body).get('Signature')).toBe(signatureOfForm(request));
  });

  test('its log has neither the signature nor a value of the body', async () => {
    const { call, logged, close } = await cloudWith('computing', [[200, made]]);
    await call(await operationNamed('computing', 'RunInstances'), args);
    await close();
    const log = JSON.stringify(logged);
    expect(log).toContain('SecurityGroup.1');
    for (const value of ['hunter2', accessKeyId, 'web']) expect(log).not.toContain(value);
  });

  test('an answer that repeats the signed body shows no signature', async () => {
    const run = await operationNamed('computing', 'RunInstances');
    const cloud = await startServer(({ body }, response) =>
      response
        .writeHead(200)
        .end(
          `<RunInstancesResponse><reservationId>${body.replaceAll('&', '&amp;')}</reservationId></RunInstancesResponse>`,
        ),
    );
    const { call, close } = testCaller('', { cloud: { endpoints: { computing: cloud.origin }, credentials } });
    const { text } = await call(run, args);
    await close();
    await cloud.close();
    expect(text).not.toMatch(/Signature=/);
  });
});

describe('a change of DNS, which signs the date with version 3', () => {
  const answer =
    '<DeleteHostedZoneResponse><ChangeInfo><Id>c1</Id><Status>PENDING</Status></ChangeInfo></DeleteHostedZoneResponse>';

  test('is shown, and then made', async () => {
    const { call, confirm, requests, close } = await cloudWith('dns', [[200, answer]], { confirm: 'plan' });
    const remove = await operationNamed('dns', 'DeleteHostedZone');
    const planned = await call(remove, { ZoneID: 'example.com' });
    expect(planned.text).toContain(`x-amzn-authorization: the date signed as ${accessKeyId} (version 3)`);
    const result = await confirm(Object(planned).structured.changeId, 'example.com');
    await close();
    expect(result).toMatchObject({ ok: true, structured: { answer: { ChangeInfo: { Status: 'PENDING' } } } });
    const { date = '', 'x-amzn-authorization': signature } = requests[0]?.headers ?? {};
    expect(signature).toContain(`Signature=${createHmac('sha256', secretAccessKey).update(date).digest('base64')}`);
  });

  test('is refused over plain http, because its headers would be good for any other request', async () => {
    const { call, close } = testCaller('', { cloud: { endpoints: { dns: 'http://dns.example.com' }, credentials } });
    const { text } = await call(await operationNamed('dns', 'DeleteHostedZone'), { ZoneID: 'example.com' });
    await close();
    expect(text).toContain('CLOUDOPS_ENDPOINT_DNS_URL is plain http');
  });
});
