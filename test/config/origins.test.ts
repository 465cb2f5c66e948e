import { expect, test } from 'vitest';
import { load } from '../support/config.js';

/** What people and client configurations are told of a setting: whether it is a path, and never a secret. */

const open = { secret: false, isPath: false };
const path = { secret: false, isPath: true };
const secret = { secret: true, isPath: false };
const key = 'MARKER'.repeat(6);

test.each([
  ['CLOUDOPS_REGION', 'jp-west-1', 'jp-west-1', open],
  ['CLOUDOPS_STATE_KEY', key, 'set, not shown', secret],
  ['CLOUDOPS_STATE_KEY_FILE', '/run/state-key', '/run/state-key', path],
  ['CLOUDOPS_JOURNAL', '/var/lib/journal.db', '/var/lib/journal.db', path],
  ['CLOUDOPS_JOURNAL', 'postgres://user:MARKER@db.example.com/ops', 'postgres://db.example.com/ops', secret],
  ['CLOUDOPS_CREDENTIAL_PROCESS', '["/usr/bin/vault", "--token=MARKER"]', 'set, not shown', secret],
  ['CLOUDOPS_PROFILE', 'postgres://db.example.com/ops', 'postgres://db.example.com/ops', open],
] as const)('%s=%s is shown as %s', (name, text, shown, kind) => {
  const result = load({ [name]: text }, { '/run/state-key': key });
  expect(result.ok && result.config.origins).toMatchObject([{ name, shown, ...kind }]);
});
