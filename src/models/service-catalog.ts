import type { Effect, Operation, Service } from '../tools/define-operation.js';
import { unknownName } from '../util/did-you-mean.js';
import { errorName } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { defined, type SafeText, say, words } from '../util/safe-text.js';
import type { ToolRules } from './chosen-operation.js';
import type { OpenService } from './open-service.js';
import type { SearchContext, SearchState, ServiceSearch } from './search/open-search.js';
import type { ServiceSources } from './service-sources.js';

/** This file finds operations of whole services by name. Models are loaded when they are first needed. */

export interface ServiceCatalog {
  readonly services: readonly { readonly name: string; readonly api: Service }[];
  /** @throws if files of this server are gone */
  find(name: string): Promise<OperationLookup>;
  /** Waits for the search, whose index may still be built. */
  search(): Promise<SearchState>;
  /** Builds the index of the search in the background, unless it is cached. Never rejects. */
  prepareSearch(): Promise<void>;
  /** Loads a model. @throws UnusableFile */
  open(service: string): Promise<OpenService>;
}

export type OperationLookup =
  | { readonly kind: 'found'; readonly operation: Operation }
  | { readonly kind: 'unknown'; readonly problem: SafeText };

/**
 * Creates the catalog of services. An operation that is also a named tool is found as that tool, so that both have the same rules.
 * @param named the named tools
 */
export function createServiceCatalog(
  sources: ServiceSources,
  named: readonly Operation[],
  options: SearchContext & Pick<ToolRules, 'listsSecretNames'>,
): ServiceCatalog {
  const services = [...sources].map(([name, { api }]) => ({ name, api }));
  /** The services that were used last are at the end. */
  const opened = new Map<string, Promise<OpenService>>();

  const open = (service: string): Promise<OpenService> => {
    const source = sources.get(service);
    const opening =
      opened.get(service) ??
      // Loaded late, so that a server with models starts fast.
      import('./open-service.js').then(({ openService }) => openService(service, source, options.listsSecretNames));
    opened.delete(service);
    opened.set(service, opening);
    opening.catch(() => opened.delete(service));
    // A large model takes about 60 MB.
    for (const oldest of [...opened.keys()].slice(0, -4)) opened.delete(oldest);
    return opening;
  };

  const effects = new Map<string, Effect>();
  for (const [service, { settings }] of sources) {
    for (const [name, { effect }] of Object.entries(settings.operations ?? {}))
      if (effect !== undefined) effects.set(`${service}:${name}`, effect);
  }
  for (const { serviceName, effect } of named) if (serviceName !== undefined) effects.set(serviceName, effect);
  let searching: ServiceSearch | undefined;
  const serviceSearch = async () => {
    const { createServiceSearch } = await import('./search/open-search.js');
    searching ??= createServiceSearch(sources, effects, options);
    return searching;
  };

  const find = async (given: string): Promise<OperationLookup> => {
    const isNamed = (name: string) => named.find(({ serviceName }) => serviceName === name);
    const unknown = (problem: string): OperationLookup => ({ kind: 'unknown', problem: defined(problem) });
    // The ways in which agents and command lines write a name: `ec2:DescribeVolumes`, `ec2.DescribeVolumes`, `aws ec2 describe-volumes`.
    const [, prefix, operation = ''] = /^(?:aws\s+)?([\w-]+)[\s.:]+(.*)$/is.exec(given.trim()) ?? [];
    const service = prefix?.toLowerCase();
    const tool = isNamed(given);
    if (tool !== undefined) return { kind: 'found', operation: tool };
    if (service === undefined)
      return unknown(unknownName(given, 'the name of a service and an operation, such as ec2:DescribeVolumes', []));
    if (!sources.has(service)) return unknown(unknownName(service, 'a service', [...sources.keys()]));
    try {
      const opened = await open(service);
      const exact = opened.nameOf(operation);
      return { kind: 'found', operation: isNamed(`${service}:${exact}`) ?? opened.operation(exact) };
    } catch (error) {
      if (textAt(error, 'code') === 'ERR_MODULE_NOT_FOUND') throw error;
      return { kind: 'unknown', problem: say`${given.slice(0, 200)}: ${reasonOf(error, service)}` };
    }
  };

  /** Errors of models quote its texts. */
  const reasonOf = (error: unknown, service: string): SafeText => {
    if (error instanceof Error && ['ModelError', 'UnusableFile'].includes(error.name)) return defined(error.message);
    options.log('error', 'models', { service, error: errorName(error) });
    return words('its model cannot be used');
  };
  return {
    services,
    find,
    search: async () => (await serviceSearch()).search(),
    prepareSearch: async () => (await serviceSearch()).prepare(),
    open,
  };
}

export async function findOperation(
  name: string,
  {
    operations,
    services,
  }: { readonly operations: readonly Operation[]; readonly services?: ServiceCatalog | undefined },
): Promise<Operation | undefined> {
  const tool = operations.find((operation) => operation.name === name);
  if (tool !== undefined || services === undefined || !name.includes(':')) return tool;
  const found = await services.find(name);
  return found.kind === 'found' ? found.operation : undefined;
}
