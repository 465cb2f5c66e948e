import type { Operation, Service } from '../tools/define-operation.js';
import { unknownName } from '../util/did-you-mean.js';
import { errorName } from '../util/log.js';
import { textAt } from '../util/objects.js';
import { defined, type SafeText, say, words } from '../util/safe-text.js';
import type { OpenService } from './open-service.js';
import type { createServiceSearch, SearchContext, SearchState } from './search-services.js';
import type { ServiceSources } from './service-sources.js';

/** This file finds operations of whole services by names such as `ec2:DescribeVolumes`. Models are loaded when they are first needed. */

export interface ServiceCatalog {
  readonly services: readonly { readonly name: string; readonly api: Service }[];
  /** @throws if files of this server are gone */
  find(name: string): Promise<OperationLookup>;
  /** Waits for the search, whose index may still be built. */
  search(): Promise<SearchState>;
  /** Loads a model. @throws UnusableFile */
  open(service: string): Promise<OpenService>;
}

export type OperationLookup =
  | { readonly kind: 'found'; readonly operation: Operation }
  | { readonly kind: 'unknown'; readonly problem: SafeText };

interface ServiceOptions extends SearchContext {
  /** True if this server has a folder of secrets. */
  readonly listsSecretNames: boolean;
}

/** A large model takes about 60 MB. */
const mostOpen = 4;

/**
 * Creates the catalog of services. An operation that is also a named tool is found as that tool, so that both have the same rules.
 * @param named the named tools
 */
export function createServiceCatalog(
  sources: ServiceSources,
  named: readonly Operation[],
  options: ServiceOptions,
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
    for (const oldest of [...opened.keys()].slice(0, -mostOpen)) opened.delete(oldest);
    return opening;
  };

  let searching: ReturnType<typeof createServiceSearch> | undefined;
  const search = async () => {
    const { createServiceSearch } = await import('./search-services.js');
    searching ??= createServiceSearch(sources, options);
    return searching();
  };

  const find = async (name: string): Promise<OperationLookup> => {
    const tool = named.find((operation) => operation.serviceName === name);
    if (tool !== undefined) return { kind: 'found', operation: tool };
    const [service = '', ...others] = name.split(':');
    const operation = others.join(':');
    if (!sources.has(service)) {
      const expected = 'the name of a service and an operation, such as ec2:DescribeVolumes';
      const problem = name.includes(':')
        ? unknownName(service, 'a service', [...sources.keys()])
        : unknownName(name, expected, []);
      return { kind: 'unknown', problem: defined(problem) };
    }
    try {
      return { kind: 'found', operation: (await open(service)).operation(operation) };
    } catch (error) {
      if (textAt(error, 'code') === 'ERR_MODULE_NOT_FOUND') throw error;
      return { kind: 'unknown', problem: say`${name.slice(0, 200)}: ${reasonOf(error, service)}` };
    }
  };

  /** Errors of models quote its texts. */
  const reasonOf = (error: unknown, service: string): SafeText => {
    if (error instanceof Error && ['ModelError', 'UnusableFile'].includes(error.name)) return defined(error.message);
    options.log('error', 'models', { service, error: errorName(error) });
    return words('its model cannot be used');
  };
  return { services, find, search, open };
}

/** Finds an operation by the tool name of a change: a named tool, or an operation of a service. */
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
