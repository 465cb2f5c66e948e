import { shownReason } from '../util/log.js';
import { lazy, parseJson } from '../util/objects.js';
import { say, withStoredTexts, words } from '../util/safe-text.js';
import { createSeal, type SealingKeys } from '../util/seal.js';
import {
  type Change,
  type Changes,
  type Ending,
  type NewChange,
  noOptions,
  storedParts,
  type Unwritable,
} from './change.js';
import { storedSchemas } from './stored-plan.js';

/** This file seals the changes that hold private values, so that no reader of the store sees these values. */

const sealedChange = lazy(() => {
  const { details, facts } = storedParts();
  return details
    .pick({ args: true, plan: true, question: true, accept: true, typedName: true })
    .extend({ subject: facts.shape.subject });
});

/** Wraps a store. Private changes are sealed with the first of the `keys`, and opened with any of them. */
export function sealPrivate(changes: Changes, keys: SealingKeys): Changes {
  const sealOf = (id: string) =>
    createSeal(keys, { purpose: 'change', associatedData: id, longest: Number.POSITIVE_INFINITY });
  const sealed = (id: string, value: object) => sealOf(id).seal(JSON.stringify(withStoredTexts(value)));

  const sealChange = (change: NewChange): NewChange => {
    if (change.isPrivate !== true) return change;
    const { args, plan, question, accept, typedName, subject, ...others } = change;
    return {
      ...others,
      ...sealedFields,
      ...(subject !== undefined && { subject: { ...subject, name: 'private' } }),
      sealed: sealed(change.id, { args, plan, question, accept, typedName, subject }),
    };
  };
  const sealedOrProblem = (change: NewChange): NewChange | Unwritable => {
    try {
      return sealChange(change);
    } catch (error) {
      return { kind: 'unwritable', reason: say`the key for private values: ${shownReason(error)}` };
    }
  };
  const sealEnding = (id: string, { outcome, isPrivate, ...ending }: Ending): Ending =>
    isPrivate === true && outcome !== undefined
      ? { ...ending, sealed: sealed(id, outcome) }
      : { ...ending, ...(outcome !== undefined && { outcome }) };

  const openText = (id: string, text: string): unknown => {
    try {
      return parseJson(sealOf(id).open(text) ?? '');
    } catch {
      // The keys cannot be read. Changes without private values need no key.
      return undefined;
    }
  };
  const openChange = (change: Change): Change => {
    const { id, ending } = change;
    const outcome = ending?.sealed && storedSchemas().outcome.safeParse(openText(id, ending.sealed)).data;
    const known = { ...change, ...(outcome && { ending: { ...ending, outcome } }) };
    if (change.sealed === undefined) return known;
    const opened = sealedChange().safeParse(openText(id, change.sealed)).data;
    // A plan that cannot be shown cannot be accepted. The caller can still withdraw it.
    return opened === undefined ? { ...known, options: noOptions } : { ...known, ...opened };
  };
  const openAll = async (found: Promise<readonly Change[]>) => (await found).map(openChange);

  return {
    ...changes,
    add: async (change, options) => {
      const toAdd = sealedOrProblem(change);
      if ('kind' in toAdd) return toAdd;
      const added = await changes.add(toAdd, options);
      return added.kind === 'added' ? { ...added, change: openChange(added.change) } : added;
    },
    decide: async (id, decision) => {
      const decided = await changes.decide(id, decision);
      return 'change' in decided ? { ...decided, change: openChange(decided.change) } : decided;
    },
    begin: async (id, { ifUnknown, ...options }) => {
      const begun = await changes.begin(id, { ...options, ifUnknown: sealEnding(id, ifUnknown) });
      if (begun.kind === 'begun') return { ...begun, change: openChange(begun.change) };
      return begun.kind === 'duplicate' ? { ...begun, earlier: openChange(begun.earlier) } : begun;
    },
    end: async (id, state, ending) => changes.end(id, state, sealEnding(id, ending)),
    find: async (id) => {
      const change = await changes.find(id);
      return change && openChange(change);
    },
    duplicateOf: async (key) => {
      const change = await changes.duplicateOf(key);
      return change && openChange(change);
    },
    waiting: (of) => openAll(changes.waiting(of)),
    newest: (of) => openAll(changes.newest(of)),
    open: (of) => openAll(changes.open(of)),
    declined: (of) => openAll(changes.declined(of)),
    recover: () => openAll(changes.recover()),
  };
}

/** For a server that cannot open the sealed fields. */
const sealedFields = {
  args: {},
  plan: {
    summary: words('A change whose values are private, and were sealed with a key that this server does not have.'),
    method: '',
    url: '',
    headers: {},
    where: [],
    consequences: [],
    risks: [],
    defaults: [],
    warnings: [],
    notChecked: [],
  },
  accept: words('Accept'),
} satisfies Pick<NewChange, 'args' | 'plan' | 'accept'>;
