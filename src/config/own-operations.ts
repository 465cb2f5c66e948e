import type { OwnOperations } from '../models/load-operations.js';
import type { ServiceSources } from '../models/service-sources.js';
import { isBuiltInService, type Operation, type Service } from '../tools/define-operation.js';
import { type Environment, textOfVariable, withHome } from './environment.js';
import { prefix } from './settings.js';

/**
 * The built-in operations and the user's. An operation that also belongs to a whole service has the name that it has there, so that both
 * names have the same rules.
 */
export function allOperations(
  builtIn: readonly Operation[],
  { operations, follows = {}, services = noServices }: OwnOperations,
): Operation[] {
  const withFollows = builtIn.map((operation) => {
    const follow = follows[operation.name];
    return follow === undefined ? operation : { ...operation, follow };
  });
  const named = (operation: Operation): Operation => {
    const [service] = [...services].find(([, { api }]) => api === operation.service) ?? [];
    return service === undefined ? operation : { ...operation, serviceName: `${service}:${operation.api}` };
  };
  return [...withFollows, ...operations].map((operation) => ({ ...named(operation), ...innerCalls(operation, named) }));
}

/** The calls that an operation makes besides its own have the same rules by both names, too. */
function innerCalls({ many, preflight }: Operation, named: (operation: Operation) => Operation): Partial<Operation> {
  return {
    ...(preflight !== undefined && { preflight: { ...preflight, operation: named(preflight.operation) } }),
    ...(many !== undefined && {
      many: { ...many, find: named(many.find), operation: named(many.operation), verify: named(many.verify) },
    }),
  };
}

/** Adds the services of a folder. Services of files come first, because they have settings. */
export const withModels = (
  own: OwnOperations,
  { services, notes, problems }: Required<Pick<OwnOperations, 'services' | 'notes' | 'problems'>>,
): OwnOperations => ({
  ...own,
  notes: [...(own.notes ?? []), ...notes],
  services: new Map([...services, ...(own.services ?? noServices)]),
  problems: [...own.problems, ...problems],
});

const noServices: ServiceSources = new Map();

/** `own` means the user's and not this server's. */
export const noOwnOperations: OwnOperations = { operations: [], problems: [] };

/** The path in a variable that is read before all others are checked. Undefined if it is not set. */
export const pathInVariable = (name: 'OPERATIONS' | 'MODELS' | 'SECRETS_DIR', env: Environment): string | undefined =>
  withHome(textOfVariable(env[prefix + name] ?? ''), env) || undefined;

/** The APIs that are not built in, of operations in files and of whole services. */
export const addedServices = ({ operations, services = noServices }: Omit<OwnOperations, 'problems'>): Service[] => {
  const apis = [...operations.map(({ service }) => service), ...[...services.values()].map(({ api }) => api)];
  return [...new Set(apis.filter((api) => !isBuiltInService(api)))];
};
