/** Small models in the form of NIFCLOUD's, with the few members that the tests use. */

type Shape =
  | 'string'
  | 'integer'
  | 'boolean'
  | 'timestamp'
  | { readonly list: Shape; readonly name?: string; readonly flattened?: true }
  | { readonly members: Members };
type Member = Shape | { readonly of: Shape; readonly locationName: string; readonly location?: string };
type Members = Readonly<Record<string, Member>>;

const list = (element: Shape | Members, name?: string): Shape => {
  const shape = isShape(element) ? element : { members: element };
  return { list: shape, ...(name !== undefined && { name }) };
};
const named = (locationName: string, of: Shape | Members): Member => ({
  of: isShape(of) ? of : { members: of },
  locationName,
});
const flat = (locationName: string, element: Members): Member => ({
  of: { list: { members: element }, flattened: true },
  locationName,
});
const inPath = (locationName: string): Member => ({ of: 'string', locationName, location: 'uri' });
const inQuery = (locationName: string, of: Shape): Member => ({ of, locationName, location: 'querystring' });
const isShape = (value: Shape | Members): value is Shape =>
  typeof value === 'string' || 'list' in value || ('members' in value && Object.keys(value).length === 1);

interface Api {
  readonly http?: string;
  readonly input: Members;
  readonly output?: Members;
  readonly hasWrapper?: true;
  /** Name and namespace of the root. */
  readonly root?: readonly [locationName: string, uri: string];
}

function model(metadata: object, uri: string, apis: Readonly<Record<string, Api>>) {
  const shapes: Record<string, object> = {};
  const add = (name: string, shape: Shape): { shape: string } => {
    if (typeof shape === 'string') shapes[name] = { type: shape };
    else if ('members' in shape) {
      const members = Object.entries(shape.members).map(([member, given]) => {
        const { of, ...more } = typeof given === 'object' && 'of' in given ? given : { of: given };
        return [member, { locationName: member, ...more, ...add(`${name}${member}`, of) }];
      });
      const required = Object.entries(shape.members).flatMap(([member, given]) =>
        typeof given === 'object' && 'location' in given && given.location === 'uri' ? [member] : [],
      );
      shapes[name] = { type: 'structure', members: Object.fromEntries(members), required };
    } else {
      const element = { ...add(`${name}Element`, shape.list), ...(shape.name && { locationName: shape.name }) };
      shapes[name] = { type: 'list', member: element, ...(shape.flattened && { flattened: true }) };
    }
    return { shape: name };
  };
  const operations = Object.entries(apis).map(([name, { http = `POST ${uri}`, input, output, hasWrapper, root }]) => {
    const [method, requestUri] = http.split(' ');
    const rootOfInput = root && { locationName: root[0], xmlNamespace: { uri: root[1] } };
    const wrapper = hasWrapper && { resultWrapper: `${name}Result` };
    return [
      name,
      {
        http: { method, requestUri },
        input: { ...add(`${name}Request`, { members: input }), ...rootOfInput },
        ...(output && { output: { ...add(`${name}Result`, { members: output }), ...wrapper } }),
      },
    ];
  });
  return { metadata, operations: Object.fromEntries(operations), shapes };
}

const userData = { Content: 'string', Encoding: 'string' } as const;
// The signature covers the order of the parameters, so it is the SDK's.
const metrics = {
  Dimensions: list({ Name: 'string', Value: 'string' }, 'member'),
  MetricName: 'string',
  StartTime: 'timestamp',
  EndTime: 'timestamp',
} as const;
const changeInfo = { ChangeInfo: { members: { Id: 'string', Status: 'string' } } } as const;

/** By service: a model in the form of botocore. */
export const nifcloudModels = {
  computing: model(
    { apiVersion: '3.0', endpointPrefix: 'computing', protocol: 'computing', signatureVersion: 'v2' },
    '/api/',
    {
      DescribeInstances: {
        input: { InstanceId: list('string') },
        output: {
          RequestId: named('requestId', 'string'),
          ReservationSet: named(
            'reservationSet',
            list(
              {
                InstancesSet: named(
                  'instancesSet',
                  list(
                    {
                      InstanceId: named('instanceId', 'string'),
                      LaunchTime: named('launchTime', 'timestamp'),
                      Weight: named('weight', 'integer'),
                    },
                    'item',
                  ),
                ),
              },
              'item',
            ),
          ),
        },
      },
      DescribeLoadBalancers: {
        input: {
          LoadBalancerNames: list(
            { LoadBalancerName: 'string', LoadBalancerPort: 'integer', InstancePort: 'integer' },
            'member',
          ),
        },
      },
      RunInstances: {
        input: {
          ImageId: 'string',
          Password: 'string',
          SecurityGroup: list('string'),
          UserData: { members: userData },
        },
        output: { ReservationId: named('reservationId', 'string') },
      },
      StartInstances: { input: { InstanceId: list('string'), UserData: { members: userData } } },
      RebootInstances: { input: { InstanceId: list('string'), Force: 'boolean', UserData: { members: userData } } },
      NiftyCreateElasticLoadBalancer: {
        input: {
          AvailabilityZones: list('string', 'member'),
          Listeners: list(
            {
              Protocol: 'string',
              ElasticLoadBalancerPort: 'integer',
              ListOfRequestInstances: named('Instances', list({ InstanceId: 'string' }, 'member')),
            },
            'member',
          ),
          NetworkInterface: list({
            NetworkId: 'string',
            ListOfRequestSystemIpAddresses: named('SystemIpAddresses', list({ SystemIpAddress: 'string' })),
          }),
        },
      },
    },
  ),
  dns: model({ endpointPrefix: 'dns', protocol: 'rest-xml', signatureVersion: 'v3' }, '/', {
    ListHostedZones: {
      http: 'GET /2012-12-12N2013-12-16/hostedzone',
      input: { Marker: inQuery('marker', 'string'), Maxitems: inQuery('maxitems', 'integer') },
      output: {
        HostedZones: list({ Name: 'string', ResourceRecordSetCount: 'integer' }, 'HostedZone'),
        NextMarker: 'string',
      },
    },
    DeleteHostedZone: {
      http: 'DELETE /2012-12-12N2013-12-16/hostedzone/{ZoneID}',
      input: { ZoneID: inPath('ZoneID') },
      output: changeInfo,
    },
    ChangeResourceRecordSets: {
      http: 'POST /2012-12-12N2013-12-16/hostedzone/{ZoneID}/rrset',
      root: ['ChangeResourceRecordSetsRequest', 'https://route53.amazonaws.com/doc/2012-12-12/'],
      input: {
        RequestChangeBatch: named('ChangeBatch', {
          ListOfRequestChanges: flat('Changes', {
            RequestChange: named('Change', {
              Action: 'string',
              RequestResourceRecordSet: named('ResourceRecordSet', {
                Name: 'string',
                Type: 'string',
                TTL: 'integer',
                ListOfRequestResourceRecords: flat('ResourceRecords', {
                  RequestResourceRecord: named('ResourceRecord', { Value: 'string' }),
                }),
              }),
            }),
          }),
        }),
        ZoneID: inPath('ZoneID'),
      },
      output: changeInfo,
    },
  }),
  ess: model(
    {
      apiVersion: '2010-12-01N2014-05-28',
      endpointPrefix: 'ess',
      protocol: 'ess',
      signatureVersion: 'v4',
      signingName: 'email',
      serviceId: 'ess',
    },
    '/',
    {
      SendEmail: {
        hasWrapper: true,
        input: {
          Destination: { members: { ListOfRequestToAddresses: named('ToAddresses', list('string', 'member')) } },
          Message: {
            members: {
              RequestBody: named('Body', { RequestText: named('Text', { Data: 'string' }) }),
              RequestSubject: named('Subject', { Data: 'string' }),
            },
          },
          Source: 'string',
        },
        output: { MessageId: 'string' },
      },
      GetDeliveryLog: {
        hasWrapper: true,
        input: { MaxItems: 'integer', NextToken: 'string', StartDate: 'timestamp', EndDate: 'timestamp' },
        output: { Log: 'string', NextToken: 'string' },
      },
      DeleteIdentity: { input: { Identity: 'string' }, output: { DeleteIdentityResult: 'string' } },
    },
  ),
  nas: model({ apiVersion: 'N2016-02-24', endpointPrefix: 'nas', protocol: 'nas', signatureVersion: 'v4' }, '/', {
    DescribeNASInstances: {
      hasWrapper: true,
      input: { NASInstanceIdentifier: 'string' },
      output: { NASInstances: list({ NASInstanceIdentifier: 'string', AllocatedStorage: 'integer' }, 'NASInstance') },
    },
    GetMetricStatistics: { input: metrics },
    DeleteNASSecurityGroup: {
      input: { NASSecurityGroupName: 'string' },
      output: { ResponseMetadata: { members: { RequestId: 'string' } } },
    },
  }),
  rdb: model(
    { apiVersion: '2013-05-15N2013-12-16', endpointPrefix: 'rdb', protocol: 'rdb', signatureVersion: 'v4' },
    '/',
    {
      DescribeDBInstances: {
        hasWrapper: true,
        input: { DBInstanceIdentifier: 'string', Marker: 'string', MaxRecords: 'integer' },
        output: {
          DBInstances: list({ DBInstanceIdentifier: 'string', DBInstanceStatus: 'string' }, 'DBInstance'),
          Marker: 'string',
        },
      },
      RestoreDBInstanceToPointInTime: {
        hasWrapper: true,
        input: {
          NiftyDBSecurityGroups: list('string', 'member'),
          RestoreTime: 'timestamp',
          SourceDBInstanceIdentifier: 'string',
          TargetDBInstanceIdentifier: 'string',
        },
        output: { DBInstance: { members: { DBInstanceIdentifier: 'string' } } },
      },
      NiftyGetMetricStatistics: { input: metrics },
    },
  ),
  devops: model({ endpointPrefix: 'devops', protocol: 'rest-json', signatureVersion: 'v4' }, '/', {
    GetInstance: { http: 'GET /v1/instances/{InstanceId}', input: { InstanceId: inPath('InstanceId') } },
  }),
  'devops-runner': model(
    {
      endpointPrefix: 'runner.devops',
      protocol: 'rest-json',
      signatureVersion: 'v4',
      signingName: 'devops',
      serviceId: 'devops-runner',
    },
    '/',
    { GetRunner: { http: 'GET /v1/runners/{RunnerName}', input: { RunnerName: inPath('RunnerName') } } },
  ),
  'service-activity': model(
    { endpointPrefix: 'service-activity', protocol: 'rest-json', signatureVersion: 'v4' },
    '/',
    {
      DescribeEventCalendar: {
        http: 'GET /events/calendars/{YearMonth}',
        input: { YearMonth: inPath('YearMonth') },
      },
    },
  ),
  storage: model(
    {
      endpointPrefix: 'storage',
      protocol: 'rest-xml',
      signatureVersion: 's3v4',
      signingName: 's3',
      serviceId: 'storage',
    },
    '/',
    {
      GetBucketVersioning: {
        http: 'GET /{Bucket}?versioning&x-id=GetBucketVersioning',
        input: { Bucket: inPath('Bucket') },
        output: { Status: 'string' },
      },
    },
  ),
};
