import { seededUpload } from '../../sandbox/sandbox.js';
import { offeredBy, openPolicy } from '../support/operations.js';
import type { ScriptedCall } from './scripted-model.js';

/** A call, and what has to reach the model of its answer. */
export interface Expected extends ScriptedCall {
  readonly what: string;
  readonly summary: string | RegExp;
  readonly next: string | RegExp;
}

const changes = offeredBy(openPolicy).filter(({ change }) => change !== undefined);

const { bucket, key, uploadId } = seededUpload;
const upload = { bucket, object: key, uploadId };

/**
 * With the settings as they are at first: a read and its error, plans, arguments that are refused, and changes without a person.
 * @param afterwards the answers after the first such change, if they differ
 */
export const asked = (
  unattended: Pick<Expected, 'summary' | 'next'>,
  afterPlan: Expected['next'] = 'Show the user all of ',
  afterwards?: Pick<Expected, 'summary' | 'next'>,
): readonly Expected[] => [
  { what: 'an upload', tool: 'list_parts', args: upload, summary: 'has 12 parts', next: 'call again' },
  {
    what: 'an upload that is not there',
    tool: 'list_parts',
    args: { ...upload, uploadId: 'unknown' },
    summary: 'list_parts failed: the cloud refused it with NoSuchUpload',
    next: 'The upload was completed or aborted',
  },
  ...changes.map(({ name, example }) => ({
    what: `a plan: ${name}`,
    tool: name,
    args: { ...example, planOnly: true },
    summary: `Plan of ${name};`,
    next: afterPlan,
  })),
  {
    what: 'arguments that break a rule no schema can say',
    tool: 'provision_kube_resource_group',
    args: {
      resourceGroupName: 'team-blue',
      externalCloudConfig: { serviceAccountKey: '{}', serviceAccountKeyName: 'key' },
    },
    summary: 'provision_kube_resource_group was not sent: its arguments need correcting',
    next: 'correct all that is listed and call again',
  },
  ...changes.map(({ name, example }, index) => ({
    what: `nobody is there: ${name}`,
    tool: name,
    args: { ...example },
    ...(index === 0 ? unattended : (afterwards ?? unattended)),
  })),
];

/** Every change with CLOUDOPS_CONFIRM=off, and then again. */
export const sent: readonly Expected[] = [
  ...changes.map(({ name, example }) => ({
    what: name,
    tool: name,
    args: { ...example },
    summary: 'The cloud accepted the ',
    next: 'Tell the user the outcome, where it went',
  })),
  ...changes.map(({ name, example }) => ({
    what: `again: ${name}`,
    tool: name,
    args: { ...example },
    summary: `${name} was not sent: the same call was accepted before`,
    next: 'Call again with allowRepeat: true',
  })),
];
