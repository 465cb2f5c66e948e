import type { CallToolResult } from '@modelcontextprotocol/client';
import { type ChangeOutcome, changeKey, outcomeKey, type ProposedChange } from '../../src/mcp/views/contract/change.js';

export const ticket = 'dGlja2V0LW9mLTEyOC1iaXRz';

/** A plan with everything that a plan can have. */
export const plannedChange: ProposedChange = {
  sentence:
    'Create DevOps server "wiki" (200 GB, e-large) in jp-east-1 from backup "demobackup00000000000000000001"? It costs money from its creation.',
  effects: [
    'The new server costs money from its creation.',
    'The backup and the server it was taken from stay as they are.',
  ],
  warnings: ['firewallGroupName is absent. The API does not require it, but client libraries of the service do.'],
  defaults: ['instanceType: e-large', 'availabilityZone: east-11'],
  request:
    'POST https://devops.example/v1/instances:restore\n\n{\n  "backupId": "demobackup00000000000000000001",\n  "instanceId": "wiki"\n}',
  expiresAt: '2999-01-01T00:00:00.000Z',
  accept: 'Create server wiki',
  decline: 'Do nothing',
  ticket,
};

export const accepted: ChangeOutcome = {
  kind: 'accepted',
  sentence: 'The cloud accepted the restore of DevOps server "wiki".',
  details: ['Its state is "RESTORING".'],
  requestIds: { 'x-request-id': '8f14e45f-ceea' },
  next: 'Follow the restore in the console, and do not send it again.',
};

/** What a tool answers that has made a plan. */
export const planResult = (given: Partial<ProposedChange> = {}): CallToolResult => ({
  content: [{ type: 'text', text: 'Plan of restore_instance. Nothing was sent.' }],
  _meta: { [changeKey]: { ...plannedChange, ...given } },
});

/** What `decide_change` answers. */
export const outcomeResult = (outcome: ChangeOutcome): CallToolResult => ({
  content: [{ type: 'text', text: `As text: ${outcome.sentence}` }],
  isError: outcome.kind !== 'accepted',
  _meta: { [outcomeKey]: outcome },
});
