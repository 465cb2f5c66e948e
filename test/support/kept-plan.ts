import type { KeptPlan } from '../../src/consent/plans.js';
import { say } from '../../src/util/safe-text.js';

/** A plan that waits for a person, issued at a time in milliseconds: a new server, without warnings or defaults. */
export const keptPlanAt = (issuedAt: number, changes: Partial<KeptPlan> = {}): KeptPlan => ({
  nonce: '0123456789abcdef',
  digest: 'd'.repeat(32),
  requestKey: 'r',
  repeats: false,
  issuedAt,
  tool: 'restore_instance',
  args: { instanceId: 'wiki' },
  client: 'test 1',
  plan: {
    summary: say`Create server wiki.`,
    method: 'POST',
    url: 'https://devops.example.com/v1/instances:restore',
    headers: {},
    where: [],
    consequences: [],
    defaults: [],
    warnings: [],
    notChecked: [],
    risks: [],
  },
  accept: say`Create server wiki`,
  ...changes,
});
