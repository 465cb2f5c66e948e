import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { Accounts } from '../calls/account.js';
import { type Principal, visibleCaller } from '../calls/policy.js';
import type { Operation } from '../tools/define-operation.js';
import { quote } from '../util/quote.js';
import type { Client } from './client.js';
import { skillResource } from './skill.js';
import { viewOf, viewResource } from './views/view-of-tool.js';

/** The parts of resources that depend on the process and the caller. */
export interface ResourceTexts {
  /** The caller; undefined if callers are not authenticated. */
  readonly principal?: Principal | undefined;
  /** Returns the effective configuration in Markdown, without secrets, for the accounts with these names. */
  readonly configuration: (accounts: readonly string[]) => string | Promise<string>;
  /** Returns the latest journal entries in Markdown. An undefined caller or undefined accounts mean all. */
  readonly journal: (caller: string | undefined, accounts: readonly string[] | undefined) => Promise<string>;
  /** Returns the contents of the sandbox in Markdown, for callers who may see the work of others. Undefined without a sandbox. */
  readonly sandbox?: (() => Promise<string>) | undefined;
}

const mimeType = 'text/markdown';

/** Loads the texts of the reference only when a client reads one, because few clients do. */
const loadReference = () => import('./reference.js');

const referenceTemplate = {
  name: 'reference',
  uriTemplate: 'cloudops://reference/{operation}',
  title: 'Reference of an operation',
  description: 'Arguments, rules, defaults and what is not documented, of one operation',
  mimeType,
};

/** A resource with its listing and its text. Hosts list the title and show the description next to it. */
interface Resource {
  readonly listing: {
    readonly uri: string;
    readonly name: string;
    readonly title: string;
    readonly description?: string;
    readonly mimeType: string;
  };
  readonly text: () => string | Promise<string>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

/** The texts, and the accounts that the caller may use. Only these accounts appear in the texts. */
interface CallerTexts extends ResourceTexts {
  readonly accounts: Pick<Accounts, 'all' | 'areNamed'>;
}

/** Serves the reference, the configuration, the journal and the views. Views are listed only to clients that can show them. */
export function serveResources(
  server: Server,
  operations: readonly Operation[],
  texts: CallerTexts,
  clientFor: (context: ServerContext) => Client,
): void {
  const documents: readonly Resource[] = [...documentsOf(texts), skillResource, ...operations.map(referenceOf)];
  const viewNames = [...new Set(operations.map(viewOf))].filter((name) => name !== undefined);
  const views = viewNames.map(viewResource);

  server.setRequestHandler('resources/list', (_request, context) => {
    const shown = clientFor(context).views ? [...documents, ...views] : documents;
    return { resources: shown.map(({ listing }) => listing) };
  });
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [referenceTemplate] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    // The same address may be written differently, for example with a scheme in capital letters.
    const normalized = URL.canParse(uri) ? new URL(uri).href : uri;
    const resource = [...documents, ...views].find(({ listing }) => listing.uri === normalized);
    if (resource === undefined) {
      const uris = documents.map(({ listing }) => listing.uri).join(', ');
      throw new ResourceNotFoundError(uri, `Not found: ${quote(uri, 200)}. There are ${uris}.`);
    }
    const { listing, text, _meta } = resource;
    return {
      contents: [{ uri, mimeType: listing.mimeType, text: await text(), ...(_meta !== undefined && { _meta }) }],
    };
  });
}

/** Returns values to suggest for an argument of a resource template. */
export function templateValues(operations: readonly Operation[], uriTemplate: string, argument: string) {
  if (uriTemplate !== referenceTemplate.uriTemplate)
    throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource template ${quote(uriTemplate, 200)} not found`);
  return argument === 'operation' ? operations.map(({ name }) => name) : [];
}

const referenceOf = (operation: Operation): Resource => ({
  listing: {
    uri: `cloudops://reference/${operation.name}`,
    name: operation.name,
    title: operation.name,
    description: `${operation.title}: arguments, rules, defaults and what is not documented`,
    mimeType,
  },
  text: async () => (await loadReference()).operationReference(operation),
});

/** Returns the general resources, with the texts that the caller may see. */
function documentsOf({ principal, accounts, configuration, journal, sandbox }: CallerTexts): readonly Resource[] {
  const accountNames = accounts.all.map(({ name }) => name);
  /** The accounts whose changes the journal shows. Undefined for all, if accounts have no names or callers are not authenticated. */
  const journalAccounts = accounts.areNamed && principal !== undefined ? accountNames : undefined;
  /** The only caller whose changes the journal shows. Undefined for all, if the reader is an auditor or is not authenticated. */
  const onlyCaller = visibleCaller(principal);
  const seesAllCallers = onlyCaller === undefined;

  const document = (name: string, uri: string, title: string, description: string, text: Resource['text']) => ({
    listing: { uri, name, title, description, mimeType },
    text,
  });

  const documents: Resource[] = [
    document(
      'instance-types',
      'cloudops://reference/instance-types',
      'Instance types',
      'Instance types that each operation accepts',
      async () => (await loadReference()).instanceTypesReference(),
    ),
    document(
      'states',
      'cloudops://reference/states',
      'States',
      'States of groups, clusters and servers, with their meanings',
      async () => (await loadReference()).statesReference(),
    ),
    document(
      'configuration',
      'cloudops://configuration',
      'Configuration',
      'Effective configuration and where each value comes from; no secrets',
      // The text lists only these accounts, and no account if accounts have no names.
      () => configuration(accountNames),
    ),
    document(
      'journal',
      'cloudops://journal',
      'Journal',
      'The last changes that were asked for, and their outcomes',
      () => journal(onlyCaller, journalAccounts),
    ),
  ];
  // The sandbox holds the work of all callers, so only a caller who may see all of it gets the resource.
  if (sandbox !== undefined && seesAllCallers) {
    const description = 'What the built-in sandbox holds, and what it was asked';
    documents.push(document('sandbox', 'cloudops://sandbox', 'Sandbox', description, sandbox));
  }
  return documents;
}
