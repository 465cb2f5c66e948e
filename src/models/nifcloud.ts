/** NIFCLOUD's variants of `awsQuery`, as its SDK (nifcloud-sdk-python 1.16) sends them. Models name one protocol for each service. */

export const nifcloudProtocols = ['computing', 'ess', 'nas', 'rdb'] as const;
type NifcloudProtocol = (typeof nifcloudProtocols)[number];

export const isNifcloud = (protocol: string): protocol is NifcloudProtocol =>
  nifcloudProtocols.some((name) => name === protocol);

/** What is replaced in an encoded form. */
type Replacement = readonly [pattern: RegExp, replacement: string];

const userData: readonly Replacement[] = [[/&UserData\.Content=(?=[^&])/, '&UserData=']];
/** Times have no seconds, and a space before the hour. */
const metricTimes: readonly Replacement[] = [[/(&(?:Start|End)Time=[\d-]+)T(\d\d%3A\d\d)%3A[^&]*/g, '$1+$2']];

/** Operations whose form differs from their description in the model. */
const replacements: Readonly<Record<NifcloudProtocol, Readonly<Record<string, readonly Replacement[]>>>> = {
  computing: {
    DescribeLoadBalancers: [
      [/&LoadBalancerNames\.member\.(\d+)\.LoadBalancerName=/g, '&LoadBalancerNames.member.$1='],
      [/&LoadBalancerNames\.member\.(\d+)\.((?:LoadBalancer|Instance)Port)=/g, '&LoadBalancerNames.$2.$1='],
    ],
    RunInstances: userData,
    StartInstances: userData,
    RebootInstances: userData,
  },
  ess: { GetDeliveryLog: [[/(&(?:Start|End)Date=[\d-]+T\d\d%3A\d\d)%3A[^&]*/g, '$1']] },
  nas: { GetMetricStatistics: metricTimes },
  rdb: { NiftyGetMetricStatistics: metricTimes },
};

export function nifcloudForm(protocol: NifcloudProtocol, operation: string, form: string): string {
  const ofService = replacements[protocol];
  const ofOperation = Object.hasOwn(ofService, operation) ? (ofService[operation] ?? []) : [];
  return ofOperation.reduce((text, [pattern, replacement]) => text.replace(pattern, replacement), form);
}
