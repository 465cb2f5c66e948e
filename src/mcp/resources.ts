import { ResourceNotFoundError, type Server, type ServerContext } from '@modelcontextprotocol/server';
import type { Accounts } from '../calls/account.js';
import { type Principal, visibleCaller } from '../calls/policy.js';
import type { Operation } from '../tools/define-operation.js';
import type { Translator } from '../util/language.js';
import { quote } from '../util/quote.js';
import { skillResource } from './skills.js';
import { viewOf, viewResource } from './views/view-of-tool.js';

export interface ResourceTexts {
  /** Undefined if callers are not authenticated. */
  readonly principal?: Principal | undefined;
  /** Returns the effective configuration in Markdown, without secrets. */
  readonly configuration: (accounts: readonly string[]) => string | Promise<string>;
  readonly journal: (caller: string | undefined, accounts: readonly string[] | undefined) => Promise<string>;
  readonly sandbox?: (() => Promise<string>) | undefined;
  readonly translator?: Translator | undefined;
}

interface Resource extends Readonly<Record<'uri' | 'name' | 'title' | 'mimeType', string>> {
  readonly description?: string;
  readonly text: () => string | Promise<string>;
  readonly _meta?: Readonly<Record<string, unknown>>;
}

const documentOf = (path: string, title: string, description: string, text: Resource['text']): Resource => {
  const [name = path] = path.split('/').slice(-1);
  return { uri: `cloudops://${path}`, name, title, description, mimeType: 'text/markdown', text };
};

/** Only the accounts that the caller may use appear in the texts. */
interface CallerTexts extends ResourceTexts {
  readonly accounts: Pick<Accounts, 'all' | 'areNamed'>;
}

export function serveResources(
  server: Server,
  operations: readonly Operation[],
  skills: readonly string[],
  texts: CallerTexts,
  hasViews: (context: ServerContext) => boolean,
): void {
  const documents: readonly Resource[] = [
    ...documentsOf(texts),
    ...skills.map(skillResource),
    ...operations.map((operation) =>
      documentOf(
        `reference/${operation.name}`,
        operation.name,
        `${operation.title}: arguments, rules, defaults and what is not documented`,
        // Loaded when a client reads a text, because few clients do.
        async () => (await import('./reference.js')).operationReference(operation),
      ),
    ),
  ];
  const viewNames = [...new Set(operations.map(viewOf))].filter((name) => name !== undefined);
  const views = viewNames.map((view) => viewResource(view, texts.translator));

  server.setRequestHandler('resources/list', (_request, context) => {
    const shown = hasViews(context) ? [...documents, ...views] : documents;
    return { resources: shown.map(({ text: _text, _meta, ...listing }) => listing) };
  });
  // Clients ask for it without being told that there are templates.
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: [] }));
  server.setRequestHandler('resources/read', async ({ params: { uri } }) => {
    // The same address may be written differently.
    const normalized = URL.canParse(uri) ? new URL(uri).href : uri;
    const resource = [...documents, ...views].find((candidate) => candidate.uri === normalized);
    if (resource === undefined) {
      const uris = documents.map((document) => document.uri).join(', ');
      throw new ResourceNotFoundError(uri, `Not found: ${quote(uri, 200)}. There are ${uris}.`);
    }
    const { mimeType, text, _meta } = resource;
    return { contents: [{ uri, mimeType, text: await text(), ...(_meta !== undefined && { _meta }) }] };
  });
}

function documentsOf({ principal, accounts, configuration, journal, sandbox }: CallerTexts): readonly Resource[] {
  const accountNames = accounts.all.map(({ name }) => name);
  /** Undefined for all accounts. */
  const journalAccounts = accounts.areNamed && principal !== undefined ? accountNames : undefined;
  /** Undefined for all callers. */
  const onlyCaller = visibleCaller(principal);
  return [
    documentOf(
      'configuration',
      'Configuration',
      'Effective configuration and where each value comes from; no secrets',
      () => configuration(accountNames),
    ),
    documentOf('journal', 'Journal', 'The last changes that were asked for, and their outcomes', () =>
      journal(onlyCaller, journalAccounts),
    ),
    // The sandbox holds the work of all callers.
    ...(onlyCaller === undefined && sandbox !== undefined
      ? [documentOf('sandbox', 'Sandbox', 'What the built-in sandbox holds, and what it was asked', sandbox)]
      : []),
  ];
}
