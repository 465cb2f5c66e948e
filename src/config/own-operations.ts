import { endpointSetting } from '../calls/endpoint.js';
import type { OwnOperations } from '../models/load-operations.js';
import { isBuiltInService, type Operation, type Service } from '../tools/define-operation.js';
import { type Environment, textOfVariable, withHome } from './environment.js';
import { prefix } from './settings.js';

/** The built-in operations and the user's. Operation files may also add a follow-up read to a built-in operation. */
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

/** `own` means the user's and not this server's. */
export const noOwnOperations: OwnOperations = { operations: [], problems: [] };

export const operationsPath = (env: Environment): string | undefined =>
  withHome(textOfVariable(env[`${prefix}OPERATIONS`] ?? ''), env) || undefined;

export const hasSecretsFolder = (env: Environment): boolean => textOfVariable(env[`${prefix}SECRETS_DIR`] ?? '') !== '';

/** The services that operation files add, one for each API. */
export const addedServices = (operations: readonly Operation[]): Service[] => [
  ...new Set(operations.map(({ service }) => service).filter((service) => !isBuiltInService(service))),
];

/** Names of the settings for the endpoints of added services, without the prefix `CLOUDOPS_`. */
export const addedSettings = ({ operations }: OwnOperations): string[] =>
  addedServices(operations).map(endpointSetting);
