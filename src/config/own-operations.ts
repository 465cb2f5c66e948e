import { endpointSetting } from '../calls/endpoint.js';
import type { OwnOperations } from '../operations/load-operations.js';
import { builtInServices, type Operation, type Service } from '../tools/define-operation.js';
import type { CommandLine } from './command-line.js';
import type { Environment } from './environment.js';
import { prefix } from './settings.js';

/** The built-in operations, with the follow-up reads that files add to them, and the operations of files. */
export const allOperations = (
  builtIn: readonly Operation[],
  { operations, follows = {} }: OwnOperations,
): Operation[] => [
  ...builtIn.map((operation) => {
    const follow = follows[operation.name];
    return follow === undefined ? operation : { ...operation, follow };
  }),
  ...operations,
];

export const noOwnOperations: OwnOperations = { operations: [], problems: [] };

/** The path that CLOUDOPS_OPERATIONS or `--operations` gives, if any. */
export const operationsPath = (env: Environment, { settings }: Pick<CommandLine, 'settings'>): string | undefined =>
  settings.OPERATIONS ?? (env[`${prefix}OPERATIONS`]?.trim() || undefined);

/** The services of operations that are not built in. `endpointSetting` names the setting for the endpoint of each. */
export const ownServices = (operations: readonly Operation[]): Service[] => [
  ...new Set(
    operations
      .map(({ service }) => service)
      .filter((service) => !builtInServices.some((builtIn) => builtIn === service)),
  ),
];

/** The settings for the endpoints of these services, without prefix. */
export const ownSettings = ({ operations }: OwnOperations): string[] => ownServices(operations).map(endpointSetting);
