import type { Accounts } from '../calls/account.js';
import { matches } from '../calls/policy.js';
import type { ServiceCatalog } from '../models/service-catalog.js';

/** Returns the entries of CLOUDOPS_TOOLS that name no operation of the services. Loads the models that it needs. */
export async function unmatchedPatterns({ all }: Accounts, services: ServiceCatalog): Promise<string[]> {
  const entries = new Set(all.flatMap(({ policy }) => policy.tools ?? []).filter((entry) => entry.includes(':')));
  const unmatched: string[] = [];
  for (const entry of entries) if (!(await matchesAny(entry, services))) unmatched.push(entry);
  return unmatched;
}

async function matchesAny(entry: string, { services, open }: ServiceCatalog): Promise<boolean> {
  const [ofService = '', ...operation] = entry.split(':');
  for (const { name } of services.filter((service) => matches(ofService, service.name))) {
    if (operation.join(':') === '*') return true;
    // A model that cannot be loaded is no reason to doubt a pattern.
    const names = await open(name).then(
      ({ model }) => model.names,
      () => undefined,
    );
    if (names === undefined || names.some((each) => matches(entry, `${name}:${each}`))) return true;
  }
  return false;
}
