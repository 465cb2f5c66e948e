import * as z from 'zod';
import { fieldsDescription } from '../tools/schema/answer-paths.js';
import { consentArguments } from '../tools/schema/fields.js';
import { lazy } from '../util/objects.js';

/** This file has the arguments of the tools that are no operations. The build writes their JSON Schemas. */

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
}));
