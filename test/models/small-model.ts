import { hostRules } from '../../src/cli/load-operation-files.js';
import { makeOperations } from '../../src/models/from-model.js';
import { readAst } from '../../src/models/model.js';
import { modelSettings } from '../../src/models/model-settings.js';
import type { Operation } from '../../src/tools/define-operation.js';

type Traits = Readonly<Record<string, unknown>>;
type Shapes = Readonly<Record<string, unknown>>;

/** An operation of a small model: its members, each with a shape ID or a type of the prelude, and traits. */
interface SmallOperation {
  readonly input?: Readonly<Record<string, SmallMember>>;
  readonly output?: Readonly<Record<string, SmallMember>>;
  readonly traits?: Traits;
}

type SmallMember = string | { readonly target: string; readonly traits: Traits };

const idOf = (target: string) => (target.includes('#') ? target : `smithy.api#${target}`);

const members = (all: Readonly<Record<string, SmallMember>>) =>
  Object.fromEntries(
    Object.entries(all).map(([name, member]) => [
      name,
      typeof member === 'string' ? { target: idOf(member) } : { ...member, target: idOf(member.target) },
    ]),
  );

/** The traits of a member by their short names: `smithy.api#required` is `required`. */
export const member = (target: string, traits: Traits): SmallMember => ({
  target,
  traits: Object.fromEntries(
    Object.entries(traits).map(([name, value]) => [name.includes('#') ? name : `smithy.api#${name}`, value]),
  ),
});

/** The JSON of a small model with some operations and further shapes. */
export const smallModelJson = (
  operations: Readonly<Record<string, SmallOperation>>,
  shapes: Shapes = {},
  protocol = 'restJson1',
  traitsOfService: Traits = {},
) => ({
  smithy: '2.0',
  shapes: {
    'small#Service': {
      type: 'service',
      version: '2026-01-01',
      operations: Object.keys(operations).map((name) => ({ target: `small#${name}` })),
      traits: { [`aws.protocols#${protocol}`]: {}, 'aws.auth#sigv4': { name: 'small' }, ...traitsOfService },
    },
    ...Object.fromEntries(
      Object.entries(operations).flatMap(([name, { input = {}, output = {}, traits = {} }]) => [
        [
          `small#${name}`,
          {
            type: 'operation',
            input: { target: `small#${name}Input` },
            output: { target: `small#${name}Output` },
            traits,
          },
        ],
        [`small#${name}Input`, { type: 'structure', members: members(input) }],
        [`small#${name}Output`, { type: 'structure', members: members(output) }],
      ]),
    ),
    ...shapes,
  },
});

export const smallModel = (...parts: Parameters<typeof smallModelJson>) => readAst(smallModelJson(...parts));

/** Makes operations from the JSON of a model, with these settings by name. */
export function operationsFrom(
  json: unknown,
  operations: Readonly<Record<string, object>>,
  more: object,
  listsSecretNames = false,
): readonly Operation[] {
  const settings = modelSettings.parse({ operations, ...more });
  const { operations: made, problems } = makeOperations(readAst(json), settings, hostRules(listsSecretNames));
  if (problems.size > 0) throw new Error([...problems].join('\n'));
  return made;
}

/** The trait for a method and a path. */
export const http = (method: string, uri: string): Traits => ({ 'smithy.api#http': { method, uri, code: 200 } });
