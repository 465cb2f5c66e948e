import { withoutSecrets } from '../../src/calls/call-secrets.js';
import type { ResolvedChange } from '../../src/calls/resolved-call.js';
import { fixedKeys } from '../../src/signing/keys.js';
import { apiProfile } from '../../src/signing/signature-variants.js';
import type { ChangeTexts, Operation } from '../../src/tools/define-operation.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { encodeRequest } from '../../src/transport/request.js';
import { words } from '../../src/util/safe-text.js';
import { accountsWith } from './caller.js';
import { requestOf } from './request-of.js';

export const keyId = 'AKIDTEST';
export const keysOf = (accessKeyId: string) => fixedKeys({ accessKeyId, secretAccessKey: 'MARKER' });
export const endpoint = {
  origin: 'https://api.example.com',
  pathPrefix: '/x',
  region: 'jp-east-1',
  service: 'devops',
  profile: apiProfile,
  account: 'default',
  keys: keysOf(keyId),
};

/** A planned call with consequences and warnings as a test wants them; everything else is that of a real operation. */
export function callOf(
  input: Record<string, unknown>,
  change: Partial<ChangeTexts> = {},
  more: Partial<Operation> = {},
): ResolvedChange {
  const base = restoreInstance as Operation;
  if (base.change === undefined) throw new Error('restore_instance is a change');
  const all = { ...base.change, warnings: () => [], notChecked: [], ...change };
  const operation = { ...base, defaults: [], unknownDefaults: [], costDrivers: [], change: all, ...more };
  const request = encodeRequest('POST', requestOf(base, input), endpoint);
  const account = accountsWith({ readOnly: false, tools: undefined }).all[0];
  if (account === undefined) throw new Error('there is one account');
  return {
    kind: 'change',
    account,
    isOffered: () => false,
    followTool: undefined,
    verificationHint: words('a server'),
    control: { planOnly: false, allowRepeat: false, replaces: undefined },
    budget: { key: 'b', limit: undefined },
    operation,
    change: all,
    input,
    shownInput: withoutSecrets({ operation, input }, input),
    args: {},
    request,
    shownRequest: request,
    endpoint,
    keyId,
    regionSource: 'given',
  };
}
