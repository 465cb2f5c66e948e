import type { ToolAnnotations } from '@modelcontextprotocol/server';
import * as z from 'zod';
import { longestReason } from '../changes/decline-reason.js';
import type { Effect } from '../tools/define-operation.js';
import { fieldsDescription } from '../tools/schema/answer-paths.js';
import { consentArguments } from '../tools/schema/fields.js';
import { lazy } from '../util/objects.js';
import { decideTool, decisions } from './views/view-contract.js';

/** This file has the tools that are no operations, and their arguments. The build writes the JSON Schemas. */

export interface ServerTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly effect: Effect;
  /** Where the tool differs from operations with this effect. */
  readonly hints?: ToolAnnotations;
  /** True for the tools that call the cloud. */
  readonly takesAccount?: true;
}

/** The tools that take the ID of a change. */
export const changeTools: readonly ServerTool[] = [
  {
    name: 'get_change',
    title: 'Read a change',
    description: 'Returns the outcome of a change, or who has to decide on it. Waits up to 25 s for its end.',
    effect: 'read',
    hints: { openWorldHint: false },
  },
  {
    name: 'withdraw_change',
    title: 'Withdraw a change',
    description: 'Takes a waiting plan back, if the user no longer wants it.',
    effect: 'alter',
    hints: { destructiveHint: false, idempotentHint: true, openWorldHint: false },
  },
  {
    name: 'confirm_change',
    title: 'Confirm a change',
    description: 'Carries a plan out, only after the user has seen it and said yes, and if its "next" names this tool.',
    effect: 'alter',
  },
];

/** The tools with which agents find and call the operations of whole services. They keep no state. */
export const serviceTools: readonly ServerTool[] = [
  {
    name: 'find_operations',
    title: 'Find operations',
    description:
      'Searches all operations of the services here. Give a verb and a thing, in English, general cloud terms; name the service if you know it; two or three phrasings.',
    effect: 'read',
  },
  {
    name: 'describe_operation',
    title: 'Describe an operation',
    description: 'Shows the arguments of an operation, its effect and risks, and an example.',
    effect: 'read',
  },
  {
    name: 'read_operation',
    title: 'Read with an operation',
    description: 'Calls an operation that only reads.',
    effect: 'read',
    takesAccount: true,
  },
  {
    name: 'change_operation',
    title: 'Change with an operation',
    description: 'Calls an operation that changes something. A person agrees before it is sent, as its plan says.',
    effect: 'alter',
    takesAccount: true,
  },
];

/** The tool behind the buttons of the change view. Hosts hide it from models. */
export const clickTool: ServerTool = {
  name: decideTool,
  title: 'Decide on a change',
  description:
    'Carries out or turns down a plan with a click of the user in the change view, or tells what became of it. Not for agents.',
  effect: 'alter',
};

export const changeToolNames: readonly string[] = changeTools.map(({ name }) => name);
export const serviceToolNames: readonly string[] = serviceTools.map(({ name }) => name);

const textOf = (most: number) => z.string().max(most, `must have at most ${most} characters`);
const changeId = () => textOf(100).describe('From the plan.');
const name = () => textOf(200).describe('Such as ec2:DescribeVolumes.');
const fields = () => z.array(z.string()).describe(fieldsDescription).optional();
/** The operation checks its own arguments. */
const operationArguments = () => z.looseObject({}).describe('As describe_operation lists them.').optional();

export const toolArguments = lazy(() => ({
  get_change: z.strictObject({ changeId: changeId(), fields: fields() }),
  withdraw_change: z.strictObject({ changeId: changeId() }),
  confirm_change: z.strictObject({
    changeId: changeId(),
    thing: textOf(2_000).describe('The name that "next" gives.'),
  }),
  find_operations: z.strictObject({
    words: textOf(500)
      .min(1, 'must not be empty')
      .describe('Such as: list disks; describe volumes; show block storage.'),
    service: textOf(100).describe('Only of this service.').optional(),
    effect: z.enum(['read', 'create', 'alter', 'delete']).describe('Only with this effect.').optional(),
  }),
  describe_operation: z.strictObject({
    name: name(),
    path: textOf(200).describe('Shows what is inside this argument.').optional(),
  }),
  read_operation: z.strictObject({ name: name(), arguments: operationArguments(), fields: fields() }),
  change_operation: z.strictObject({ name: name(), arguments: operationArguments(), ...consentArguments() }),
  decide_change: z.strictObject({
    ticket: z.string(),
    decision: z.enum(decisions),
    reason: z.string().min(1).max(longestReason).optional(),
    name: z.string().max(longestReason).optional(),
  }),
}));
