import { isIP, SocketAddress } from 'node:net';
import { type ApiResponse, type Fields, isObject, jsonError, object, parseObject } from './http.js';
import { invented } from './invented.js';

/**
 * The documented rules for request bodies, read from the reference a second time and without the client's code, so that
 * the two readings can disagree. What the reference leaves open is accepted.
 */

/** A rule for one value; `says` completes "`field` …". */
export interface Rule {
  readonly says: string;
  holds(value: unknown): boolean;
}

/** A rule that looks at other fields of the body as well. */
export interface Condition {
  readonly field: string;
  readonly says: string;
  holds(body: Fields): boolean;
}

export interface OperationRules {
  /** Dotted names, `[]` for the elements of a list. The first rule of each that does not hold is reported. */
  readonly fields: Readonly<Record<string, readonly Rule[]>>;
  /** Not in the reference, but the operation means nothing without them. */
  readonly required: readonly string[];
  readonly conditions: readonly Condition[];
}

const string: Rule = { says: 'must be a string', holds: (value) => typeof value === 'string' };
const boolean: Rule = { says: 'must be a boolean', holds: (value) => typeof value === 'boolean' };
const integer: Rule = { says: 'must be an integer', holds: (value) => Number.isSafeInteger(value) };

const text = (says: string, holds: (value: string) => boolean): Rule => ({
  says,
  holds: (value) => typeof value === 'string' && holds(value),
});
const oneOf = (...values: readonly (string | number)[]): Rule => ({
  says: `must be one of ${values.join(', ')}`,
  holds: (value) => values.some((allowed) => allowed === value),
});
/** Characters as people count them: a pair of surrogates is one. */
const length = (least: number, most: number) =>
  text(least === most ? `must have ${most} characters` : `must have ${least} to ${most} characters`, (value) => {
    const count = Array.from(value).length;
    return count >= least && count <= most;
  });
const lowercaseAlphanumeric = text('must be lowercase alphanumerics', (value) => !/[^a-z0-9]/.test(value));
const lowercaseOrHyphen = text('must be lowercase alphanumerics or hyphens', (value) => !/[^a-z0-9-]/.test(value));
const noHyphenAtEnds = text(
  'must not begin or end with a hyphen',
  (value) => !value.startsWith('-') && !value.endsWith('-'),
);
const name = (least: number, most: number) => [string, length(least, most), lowercaseOrHyphen, noHyphenAtEnds];

const isAddress = (value: string) => isIP(value) !== 0;
const address = [string, text('must be an IP address', isAddress)];
const list = (says: string, holds: (value: readonly unknown[]) => boolean): Rule => ({
  says,
  holds: (value) => Array.isArray(value) && holds(value),
});
const single = list('must hold exactly one', (value) => value.length === 1);

const sized = (sizes: Readonly<Record<string, string>>) =>
  Object.entries(sizes).flatMap(([size, memory]) => memory.split(' ').map((gigabytes) => size + gigabytes));
const listN = sized({
  'h2-large': '16 24 32',
  'h2-extra-large': '16 24 32 48',
  'h2-double-large': '16 24 32 48 64 96',
  'h2-triple-large': '32 48 64 96 128',
  'h2-quad-large': '64 96 128',
  'h2-septa-large': '128',
});
const listW = ['h2-large', ...sized({ 'h2-medium': '4 8 16 24', 'h2-large': '8', 'h2-extra-large': '8' }), ...listN];
const familyD = (family: string) => [
  `${family}-large`,
  ...sized({
    [`${family}-large`]: '8 16 24 32',
    [`${family}-extra-large`]: '8 16 24 32 48',
    [`${family}-double-large`]: '16 24 32 48 64 96',
  }),
];
const listD = ['c-large', 'c-large8', ...familyD('e'), ...familyD('h2')];

/** Fields that stand below several others get their prefix. */
const below = (prefix: string, fields: OperationRules['fields']) =>
  Object.fromEntries(Object.entries(fields).map(([field, rules]) => [`${prefix}.${field}`, rules]));
const machine = (types: readonly string[]) => ({
  region: [string],
  availabilityZone: [string],
  instanceType: [string, oneOf(...types)],
  volumeType: [
    string,
    oneOf(
      'standard-flash-storage-a',
      'standard-flash-storage-b',
      'high-speed-flash-storage-a',
      'high-speed-flash-storage-b',
    ),
  ],
  volumeSize: [integer, oneOf(100)],
});
const accounting = [string, oneOf('pay-per-use', 'monthly')];

const balancer = (body: Fields) => object(object(body.adminCluster).controlPlaneLoadBalancer);
const hasPrivateLan = (body: Fields) => object(body.networkConfig).networkId !== undefined;
const canonical = (value: unknown) =>
  typeof value === 'string' && isIP(value) === 6
    ? new SocketAddress({ address: value.replace(/%.*/, ''), family: 'ipv6' }).address
    : value;
const isTwoDistinct = (value: unknown) =>
  Array.isArray(value) && value.length === 2 && canonical(value[0]) !== canonical(value[1]);

/** Reference, sections 2.1, 4.2 and 8. */
export const provisionRules: OperationRules = {
  fields: {
    regions: [single],
    'regions[]': [string],
    availabilityZones: [single],
    'availabilityZones[]': [string],
    resourceNamePrefix: [string, length(1, 6), lowercaseAlphanumeric],
    deploymentModel: [string, oneOf('standalone', 'multi', 'hybrid')],
    'networkConfig.networkId': [string],
    'externalCloudConfig.serviceAccountKey': [
      string,
      text('must be a JSON object', (value) => parseObject(Buffer.from(value)) !== undefined),
    ],
    'externalCloudConfig.location': [string],
    ...below('adminWorkstation', { ...machine(listW), keyName: [string], initialAccountingType: accounting }),
    ...below('adminCluster', {
      name: [
        string,
        length(1, 40),
        lowercaseOrHyphen,
        text('must begin with a lowercase letter', (value) => /^[a-z]/.test(value)),
        text('must end with a lowercase alphanumeric', (value) => !value.endsWith('-')),
      ],
      version: [string],
      keyName: [string],
      initialAccountingType: accounting,
      'kubeServiceMeshConfig.enabled': [boolean],
      'kubeServiceMeshConfig.version': [string],
      'cloudControllerManagerConfig.useExternalCloudProvider': [boolean],
      'controlPlaneLoadBalancer.type': [string, oneOf('elastic-load-balancer')],
      'controlPlaneLoadBalancer.vip': address,
      'controlPlaneLoadBalancer.systemIpAddresses[]': address,
      ...below('controlPlane', { ...machine(listN), nodeCount: [integer, oneOf(1, 3, 5)] }),
      ...below('nodePools[]', {
        name: name(1, 40),
        ...machine(listN),
        nodeCount: [integer, { says: 'must not be negative', holds: (value) => Number(value) >= 0 }],
      }),
    }),
  },
  required: [],
  conditions: [
    {
      field: 'adminCluster.controlPlaneLoadBalancer.vip',
      says: 'is required when a private LAN is specified',
      holds: (body) => !hasPrivateLan(body) || balancer(body).vip !== undefined,
    },
    {
      field: 'adminCluster.controlPlaneLoadBalancer.systemIpAddresses',
      says: 'must not be given when the common private network is used',
      holds: (body) => hasPrivateLan(body) || balancer(body).systemIpAddresses === undefined,
    },
    {
      field: 'adminCluster.controlPlaneLoadBalancer.systemIpAddresses',
      says: 'must be exactly two distinct IP addresses when a private LAN is specified with an elastic-load-balancer',
      holds: (body) =>
        !hasPrivateLan(body) ||
        balancer(body).type !== 'elastic-load-balancer' ||
        isTwoDistinct(balancer(body).systemIpAddresses),
    },
  ],
};

/** Reference, section 4.3. */
export const upgradeRules: OperationRules = { fields: { version: [string] }, required: ['version'], conditions: [] };

const isCidr = (value: string) => {
  const [, ip = '', bits = ''] = /^(.*)\/(0|[1-9]\d{0,2})$/.exec(value) ?? [];
  return bits !== '' && isIP(ip) !== 0 && Number(bits) <= (isIP(ip) === 4 ? 32 : 128);
};

/** Reference, sections 2.1, 4.4 and 8. */
export const restoreRules: OperationRules = {
  fields: {
    backupId: [string, length(32, 32), lowercaseAlphanumeric],
    instanceId: name(1, 30),
    instanceType: [string, oneOf(...listD)],
    firewallGroupName: name(1, 63),
    parameterGroupName: name(1, 63),
    diskSize: [integer, oneOf(100, 200, 300, 400)],
    availabilityZone: [
      string,
      oneOf('east-11', 'east-12', 'east-13', 'east-14', 'east-31', 'west-12', 'west-13', 'jp-west-21'),
    ],
    description: [string, length(0, 255)],
    'networkConfig.networkId': [string],
    'networkConfig.privateAddress': [string, text('must be an IP address in CIDR notation', isCidr)],
    ...below('objectStorageConfig', {
      account: [string, length(1, 128), text('must be alphanumeric', (value) => !/[^a-z0-9]/i.test(value))],
      region: [string, oneOf('jp-east-1', 'jp-west-2')],
      'bucketUseObjects.lfs': name(3, 32),
      'bucketUseObjects.packages': name(3, 32),
      'bucketUseObjects.containerRegistry': name(3, 32),
    }),
  },
  required: ['backupId', 'instanceId'],
  conditions: [],
};

interface Problem {
  readonly field: string;
  readonly says: string;
}

/** Every rule that a body breaks. Values are never repeated: they may be secret. */
function problems(rules: OperationRules, body: Fields): Problem[] {
  const missing = rules.required.filter((field) => body[field] === undefined);
  return [
    ...missing.map((field) => ({ field, says: 'is required' })),
    ...walk(rules, body, '', ''),
    ...rules.conditions.filter((condition) => !condition.holds(body)),
  ];
}

/** `field` is the name in the rules, `shown` has the numbers of list elements instead. */
function walk(rules: OperationRules, value: unknown, field: string, shown: string): Problem[] {
  const own = Object.hasOwn(rules.fields, field) ? rules.fields[field] : undefined;
  const broken = own?.find((rule) => !rule.holds(value));
  if (broken !== undefined) return [{ field: shown, says: broken.says }];
  const known = Object.keys(rules.fields);
  if (known.some((other) => other.startsWith(`${field}[]`))) {
    if (!Array.isArray(value)) return [{ field: shown, says: 'must be a list' }];
    return value.flatMap((element, index) => walk(rules, element, `${field}[]`, `${shown}[${index}]`));
  }
  if (own !== undefined) return [];
  const prefix = field === '' ? '' : `${field}.`;
  if (!known.some((other) => other.startsWith(prefix))) return [{ field: shown, says: 'is not a field here' }];
  if (!isObject(value)) return [{ field: shown, says: 'must be an object' }];
  return Object.entries(value).flatMap(([key, inner]) =>
    // A name with a dot in it must not pass for two.
    walk(rules, inner, prefix + (/^\w+$/.test(key) ? key : '?'), shown === '' ? key : `${shown}.${key}`),
  );
}

/** What a body says, or the refusal of one that breaks rules. Its code names the first field, its message all. */
export function readInput(rules: OperationRules, body: Buffer): { input: Fields; refused?: ApiResponse } {
  const input = parseObject(body);
  if (input === undefined)
    return { input: {}, refused: refuse(400, 'InvalidParameterIllegalInput.Body', 'The body is not a JSON object.') };
  const broken = problems(rules, input);
  const [first] = broken;
  if (first === undefined) return { input };
  const words = first.field.match(/[A-Za-z]+/g) ?? ['Body'];
  const named = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  const message = broken.map(({ field, says }) => `${field} ${says}.`).join(' ');
  return { input, refused: refuse(400, `InvalidParameterIllegalInput.${named}`, message) };
}

/** An error in the service's form. Codes are not in the reference: these follow those seen on services of the family. */
export const refuse = (status: number, code: string, message: string): ApiResponse =>
  invented(jsonError(status, `Client.${code}`, message), 'error');

export const duplicate = (what: string, message: string) => refuse(409, `InvalidParameterDuplicate.${what}`, message);
export const notFound = (what: string, message: string) => refuse(404, `InvalidParameterNotFound.${what}`, message);
export const unknownOperation = () => refuse(404, 'URLNotFound', 'The sandbox knows no such operation.');
