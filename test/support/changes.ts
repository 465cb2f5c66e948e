import { randomBytes, randomUUID } from 'node:crypto';
import type { Change, NewChange } from '../../src/changes/change.js';
import type { Process, SystemClock } from '../../src/changes/system.js';
import { say, words } from '../../src/util/safe-text.js';

/** The same change each time, under an ID of its own. */
export const newChange = (changes: Partial<NewChange> = {}): NewChange => {
  const id = randomBytes(16).toString('base64url');
  return {
    id,
    caller: undefined,
    client: 'test 1',
    account: 'default',
    keyId: 'access-key-1',
    tool: 'restore_instance',
    args: { instanceName: 's' },
    requestKey: 'same',
    requestDigest: 'digest',
    repeats: false,
    tokenSource: id,
    budget: 'b',
    mode: 'plan',
    options: { byForm: false, byClick: false, onPage: false, byConfirmation: true },
    what: 'A server "s" is created.',
    target: 'POST https://devops.example.com/v1/instances:restore',
    plan: {
      summary: say`Creates a server.`,
      method: 'POST',
      url: 'https://devops.example.com/v1/instances:restore',
      headers: {},
      where: [{ place: words('region jp-east-1'), source: words('given') }],
      consequences: [],
      risks: [],
      defaults: [],
      warnings: [],
      notChecked: [],
    },
    accept: words('Create server'),
    ...changes,
  };
};

/** A change that a person decides on. */
export const asking: Partial<NewChange> = {
  options: { byForm: true, byClick: false, onPage: false, byConfirmation: false },
};

/** A process on a host of its own, so that only its lease tells whether it runs. */
export const processOn = (host: string): Process => ({ id: randomUUID(), space: host, pid: 1, started: '1' });

/** The clocks of a system without a boot ID, on which only the wall clock counts. */
export const wallClock = (now: () => Date): SystemClock => ({
  boot: undefined,
  uptimeMs: () => 0,
  wallMs: () => now().getTime(),
});

/** A change as a store has it, which was sent at a time in milliseconds. */
export const changeAt = (time: number, changes: Partial<Change> = {}): Change => ({
  ...newChange(),
  state: 'accepted',
  madeAt: time,
  expiresAt: time,
  begunAt: time,
  isExpired: false,
  ageMs: 0,
  ...changes,
});
