import * as z from 'zod';
import { type Follow, type Operation, valueAtSource } from '../tools/define-operation.js';
import { thingSummary } from './answer-summary.js';
import { translatePath } from './argument-names.js';
import { type ChosenOperation, type FindFollow, type ModelContext, wordsOf } from './chosen-operation.js';
import { answerRecord } from './convert-values.js';
import { type Member, type Model, ModelError, type ModelOperation, waitersTrait } from './model.js';

/** A trait of another form is no error, because operations work without waiters. */
const waiters = z
  .record(
    z.string(),
    z.object({
      acceptors: z.array(z.object({ state: z.string(), matcher: z.record(z.string(), z.unknown()) })),
      /** In seconds. */
      minDelay: z.number().positive().optional().catch(undefined),
      /** Only botocore's waiters have a limit. */
      maxAttempts: z.number().positive().optional().catch(undefined),
    }),
  )
  .catch({});
const textMatcher = z.object({
  path: z.string().regex(/^\w+(?:\[\]|\.\w+)*$/),
  expected: z.string(),
  comparator: z.enum(['stringEquals', 'allStringEquals', 'anyStringEquals']),
});

type Ending = Pick<Follow, 'done' | 'failed' | 'gone' | 'pauseSeconds' | 'limitSeconds'>;

/** The last words of waiters that fit the verb of a change: `TableExists` fits `CreateTable`. */
const statesAfter: readonly (readonly [verb: RegExp, state: RegExp])[] = [
  [
    /^(?:create|restore|copy|clone|launch|run|register|import|allocate|request|provision)$/,
    /^(?:exists|available|active|running|ready|completed?|created|create complete|in service|ok|deployed|fulfilled|imported|valid|validated|issued)$/,
  ],
  [/^(?:start|restart|reboot|resume|enable)$/, /^(?:running|available|active|started|ok)$/],
  [/^(?:update|modify|resize|upgrade)$/, /^(?:updated|available|active|update complete|running)$/],
  [
    /^(?:delete|terminate|remove|deregister|destroy)$/,
    /^(?:deleted|terminated|not exists|delete complete|deregistered)$/,
  ],
  [/^(?:stop|pause)$/, /^(?:stopped|paused)$/],
  [/^cancel$/, /^cancel\w*ed$/],
  [/^associate$/, /^associated$/],
  [/^disassociate$/, /^disassociated$/],
  [/^attach$/, /^in use$/],
  [/^detach$/, /^available$/],
];

/** Returns the function that finds the read, one of `names`, that shows the progress of a change. */
export function followFinder(model: Model, names: readonly string[]): FindFollow {
  const operations = names.map((name) => model.operation(name));
  const waitersOfReads = operations.flatMap((read) =>
    Object.entries(waiters.parse(read.traits[waitersTrait])).map(([name, waiter]) => ({
      read,
      words: singularWordsOf(name),
      ending: endingOf(waiter),
    })),
  );
  const readsOfThings = operations.flatMap((read) => {
    const [verb = '', ...thing] = singularWordsOf(read.name);
    return /^(?:get|describe|head)$/.test(verb) ? [{ read, thing }] : [];
  });

  return (change, chosen = []) => {
    const [verb = '', ...resource] = singularWordsOf(change.name);
    const follow = (read: ModelOperation, thing: readonly string[], ending: Ending): readonly Follow[] => {
      const readArguments = argumentsFrom(change, read, thing);
      return readArguments === undefined ? [] : [{ read: read.name, arguments: readArguments, ...ending }];
    };
    const follows = [
      ...waitersOfReads.flatMap(({ read, words, ending }) =>
        isWaiterFor(words, verb, resource) ? follow(read, words, ending) : [],
      ),
      ...readsOfThings.flatMap(({ read, thing }) => (isSameThing(thing, resource) ? follow(read, thing, {}) : [])),
    ];
    const saysEnd = ({ done, gone }: Follow) => done !== undefined || gone === true;
    const ranked = [...follows.filter(saysEnd), ...follows];
    return ranked.find(({ read }) => chosen.includes(read)) ?? ranked[0];
  };
}

const singularWordsOf = (name: string): readonly string[] =>
  wordsOf(name.replace(/V\d+$/, '')).map((word) => (/^exists$|[us]s$/.test(word) ? word : word.replace(/s$/, '')));

/** True if a waiter fits a change, as `DBInstanceAvailable` fits `CreateDBInstance`. */
function isWaiterFor(waiterName: readonly string[], verb: string, resource: readonly string[]): boolean {
  const firstOther = waiterName.findIndex((word, index) => word !== resource[index]);
  if (firstOther < 1) return false;
  const state = waiterName.slice(firstOther).join(' ');
  if (!statesAfter.some(([verbs, states]) => verbs.test(verb) && states.test(state))) return false;
  // `FunctionUpdated` also fits `UpdateFunctionCode`.
  if (state === 'updated') return resource.length <= firstOther + 1;
  return isSameThing(waiterName.slice(0, firstOther), resource);
}

/** `RestoreDBInstanceFromS3` is about a DB instance, `CreateDBInstanceRole` about another thing. */
function isSameThing(thing: readonly string[], resource: readonly string[]): boolean {
  const [nextWord] = resource.slice(thing.length);
  const isBeginning = thing.length > 0 && thing.every((word, index) => word === resource[index]);
  return isBeginning && (nextWord === undefined || /^(?:from|to|in|with|by)$/.test(nextWord));
}

/** Matchers that count entries tell nothing. */
function endingOf({ acceptors, minDelay, maxAttempts }: z.output<typeof waiters>[string]): Ending {
  const textsOf = (state: string) =>
    acceptors.flatMap((acceptor) => {
      const { data } = textMatcher.safeParse(acceptor.matcher.output);
      return acceptor.state === state && data !== undefined ? [data] : [];
    });
  const [success] = textsOf('success');
  const failures = textsOf('failure');
  const failed = Object.fromEntries(
    failures.map(({ path }) => [path, failures.filter((other) => other.path === path).map(({ expected }) => expected)]),
  );
  const isGone = acceptors.some(({ state, matcher }) => state === 'success' && typeof matcher.errorType === 'string');
  return {
    ...(success !== undefined && { done: { [success.path]: success.expected } }),
    ...(failures.length > 0 && { failed }),
    ...(isGone && { gone: true }),
    ...(minDelay !== undefined && { pauseSeconds: minDelay }),
    ...(minDelay !== undefined && maxAttempts !== undefined && { limitSeconds: minDelay * maxAttempts }),
  };
}

type Sources = Follow['arguments'];

/** Undefined if the change lacks an argument that the read requires, or has no source at all. */
function argumentsFrom(change: ModelOperation, read: ModelOperation, resource: readonly string[]): Sources | undefined {
  const requiredByChange = change.input.members.filter(({ isRequired }) => isRequired).map(({ name }) => name);
  const wanted = read.input.members.filter(
    (member) => member.isRequired || requiredByChange.includes(member.name) || isIdentifierOf(member.name, resource),
  );
  const found = wanted.flatMap((member) => {
    const source = sourceOf(change, member);
    return source === undefined ? [] : [[member.name, source] as const];
  });
  const lacksRequired = wanted.some((member) => member.isRequired && !found.some(([name]) => name === member.name));
  return found.length === 0 || lacksRequired ? undefined : Object.fromEntries(found);
}

/** True for `VolumeIds` and a resource that begins with `volume`. */
function isIdentifierOf(name: string, resource: readonly string[]): boolean {
  const words = singularWordsOf(name);
  const thing = words.slice(0, -1);
  const isNameOrId = ['id', 'identifier', 'name', 'arn'].includes(words.at(-1) ?? '');
  return isNameOrId && thing.length > 0 && thing.every((word, index) => word === resource[index]);
}

function sourceOf({ input, output }: ModelOperation, wanted: Member): Sources[string] | undefined {
  const kindOf = ({ shape }: Member) => ('type' in shape ? 'simple' : shape.kind);
  const kind = kindOf(wanted);
  const isList = kind === 'list';
  const wantedName = isList ? wanted.name.replace(/s$/, '') : wanted.name;
  const has = (members: readonly Member[], name: string, expected: string) =>
    members.some((member) => member.name === name && kindOf(member) === expected);

  const places = [
    ['input', input.members],
    ['answer', output.members],
    ...output.members.flatMap(({ name, shape }) => {
      if (shape.kind === 'structure') return [[`answer.${name}`, shape.members] as const];
      const entry = shape.kind === 'list' ? shape.element.shape : undefined;
      return isList && entry?.kind === 'structure' ? [[`answer.${name}[]`, entry.members] as const] : [];
    }),
  ] as const;
  for (const [place, members] of places) {
    if (has(members, wanted.name, kind)) return `${place}.${wanted.name}`;
    if (!isList || !has(members, wantedName, 'simple')) continue;
    return place.endsWith('[]') ? `${place}.${wantedName}` : [`${place}.${wantedName}`];
  }
  return undefined;
}

/** Returns the read of the file, or else of the model, that shows the progress of a change and what is there before. */
export function followOf(context: ModelContext, chosen: ChosenOperation): Pick<Operation, 'follow' | 'preflight'> {
  const { operation, settings } = chosen;
  const given = settings.follow;
  const found = given ?? context.findFollow()(operation);
  if (found === undefined || found === false) return {};
  try {
    const read = readOf(context, found);
    const follow = translateFollow(found, chosen, read);
    return { follow, ...(settings.effect !== 'create' && read !== undefined && preflightOf(context, follow, read)) };
  } catch (error) {
    // The suggested read may be one that this server does not support.
    if (given === undefined && error instanceof ModelError) return {};
    throw error;
  }
}

/** Returns the read of the model, which the file may name as a tool. Undefined for a read of another file. */
function readOf({ names, settingsOf, choose }: ModelContext, { read }: Follow): ChosenOperation | undefined {
  const name = names.includes(read) ? read : names.find((each) => settingsOf(each)?.name === read);
  return name === undefined || settingsOf(name)?.effect !== 'read' ? undefined : choose(name);
}

/** Returns the read that shows what is there before a change, if the read takes only arguments of the change. */
function preflightOf(
  { operation }: ModelContext,
  follow: Follow,
  { operation: { name }, isSecret, isPrivate, answerFields }: ChosenOperation,
): Pick<Operation, 'preflight'> {
  const sources = Object.entries(follow.arguments);
  if (!sources.every(([, source]) => [source].flat()[0]?.startsWith('input.'))) return {};
  // A plan is not private because of what its read finds, so it shows no private values.
  const isHidden = (field: Member) => isSecret(field) || isPrivate(field);
  return {
    preflight: {
      operation: operation(name),
      input: (input) => {
        const given = sources.map(([argument, source]) => [argument, valueAtSource({ input }, source)] as const);
        // Without one of them, the read could be about all things. A read of a secret is not made unasked.
        const isUnclear = given.some(([, value]) => value === undefined);
        return isUnclear || answerFields.some(isSecret) ? undefined : Object.fromEntries(given);
      },
      found: (answer) => thingSummary(name, answerRecord(answerFields, answer, isHidden)),
    },
  };
}

/** Translates the names in `follow`. Reads of several models may have the same name, so the result has the tool name. */
function translateFollow(follow: Follow, change: ChosenOperation, read: ChosenOperation | undefined): Follow {
  const sourceIn = (source: string) => {
    const [place = '', ...names] = source.split('.');
    const [fields, structure] =
      place === 'input' ? [change.toolArguments, 'the arguments'] : [change.answerFields, 'the answer'];
    return `${place}.${translatePath(names.join('.'), fields, { setting: 'follow.arguments', structure })}`;
  };
  const sources = Object.entries(follow.arguments).map(
    ([path, source]) =>
      [path, typeof source === 'string' ? sourceIn(source) : ([sourceIn(source[0])] as const)] as const,
  );
  // The check of all files together finds wrong names of a read in another file.
  if (read === undefined) return { ...follow, arguments: Object.fromEntries(sources) };

  const argumentsOfRead = { setting: 'follow.arguments', structure: `the arguments of ${follow.read}` };
  const answerOfRead = { setting: 'follow.done', structure: `the answer of ${follow.read}` };
  const withFields = <Value>(values: Readonly<Record<string, Value>>) =>
    Object.fromEntries(
      Object.entries(values).map(([path, value]) => [translatePath(path, read.answerFields, answerOfRead), value]),
    );
  return {
    ...follow,
    read: read.name,
    arguments: Object.fromEntries(
      sources.map(([path, source]) => [translatePath(path, read.toolArguments, argumentsOfRead), source]),
    ),
    ...(follow.done !== undefined && { done: withFields(follow.done) }),
    ...(follow.failed !== undefined && { failed: withFields(follow.failed) }),
  };
}
