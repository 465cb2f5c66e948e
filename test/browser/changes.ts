import type { CallToolResult } from '@modelcontextprotocol/client';
import { type ChangeOutcome, changeKey, outcomeKey, type ProposedChange } from '../../src/mcp/views/view-contract.js';

export const ticket = 'dGlja2V0LW9mLTEyOC1iaXRz';

/** A plan with everything that a plan can have. */
export const plannedChange: ProposedChange = {
  sentence: 'Create DevOps server "wiki" (200 GB, e-large) in jp-east-1 from backup "demobackup00000000000000000001".',
  risks: ['costs money'],
  isSandbox: false,
  where: ['region jp-east-1 (given)', "zone east-11 (the cloud's default)", 'account "production"'],
  effects: [
    'The new server costs money from its creation.',
    'The backup and the server it was taken from stay as they are.',
  ],
  warnings: ['This is a repeat: the same call was accepted before. It was sent at 2026-11-20T11:30:00.000Z.'],
  notChecked: ['that the backup exists', 'that the name is free'],
  defaults: [
    { name: 'server type', value: 'e-large' },
    { name: 'zone', value: 'east-11' },
  ],
  tables: [{ title: 'Node pools', columns: ['Name', 'Number of nodes'], rows: [['"workers"', '2']], more: 3 }],
  request:
    'POST https://devops.example/v1/instances:restore\n\n{\n  "backupId": "demobackup00000000000000000001",\n  "instanceId": "wiki"\n}',
  expiresAt: '2999-01-01T00:00:00.000Z',
  accept: 'Create server wiki',
  decline: 'Do nothing',
  ticket,
  otherWays: ['Say yes or no to this plan in the chat.', 'In a terminal, run cloudops-mcp call restore_instance.'],
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
