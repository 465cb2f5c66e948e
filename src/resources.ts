import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { type Principal, visibleCaller } from './calls/policy.js';
import type { Operation } from './tools/define-operation.js';
import { instanceTypesReference, operationReference, statesReference } from './tools/reference.js';

/** What resources say that depends on the process. */
export interface ResourceTexts {
  /** Who calls; absent where callers are not told apart. */
  readonly principal?: Principal | undefined;
  /** The effective configuration as Markdown, without secrets. */
  readonly configuration: () => string;
  /** The last entries of the journal as Markdown: those of one caller, or all. */
  readonly journal: (caller: string | undefined) => Promise<string>;
  /** What the sandbox holds and was asked, as Markdown, where it is in use. For callers who may see what others do. */
  readonly sandbox?: (() => Promise<string>) | undefined;
}

const mimeType = 'text/markdown';

/** The one template that clients are shown. */
export const referenceTemplate = {
  name: 'reference',
  uriTemplate: 'cloudops://reference/{operation}',
  title: 'Reference of an operation',
  description: 'Arguments, rules, defaults and what is not documented, of one operation',
  mimeType,
};

/** A resource with one address. Clients list the title, and show the description beside it. */
interface Fixed {
  readonly name: string;
  readonly uri: string;
  readonly title: string;
  readonly description: string;
  readonly text: () => string | Promise<string>;
}

/** The reference as the server knows it, and how it is configured. */
export function registerResources(
  server: McpServer,
  operations: readonly Operation[],
  { principal, configuration, journal, sandbox }: ResourceTexts,
): void {
  const contents = (uri: URL, text: string) => ({ contents: [{ uri: uri.href, mimeType, text }] });
  const fixed: Fixed[] = [
    {
      name: 'instance-types',
      uri: 'cloudops://reference/instance-types',
      title: 'Instance types',
      description: 'Instance types that each operation accepts',
      text: instanceTypesReference,
    },
    {
      name: 'states',
      uri: 'cloudops://reference/states',
      title: 'States',
      description: 'States of groups, clusters and servers, with their meanings',
      text: statesReference,
    },
    {
      name: 'configuration',
      uri: 'cloudops://configuration',
      title: 'Configuration',
      description: 'Effective configuration and where each value comes from; no secrets',
      text: configuration,
    },
    {
      name: 'journal',
      uri: 'cloudops://journal',
      title: 'Journal',
      description: 'The last changes that were asked for, and what came of them',
      text: () => journal(visibleCaller(principal)),
    },
  ];
  if (sandbox !== undefined && visibleCaller(principal) === undefined)
    fixed.push({
      name: 'sandbox',
      uri: 'cloudops://sandbox',
      title: 'Sandbox',
      description: 'What the built-in sandbox holds, and what it was asked',
      text: sandbox,
    });
  for (const { name, uri, text, ...listing } of fixed)
    server.registerResource(name, uri, { ...listing, mimeType }, async (address) => contents(address, await text()));

  const names = operations.map(({ name }) => name);
  const { name: referenceName, uriTemplate, ...listing } = referenceTemplate;
  const template = new ResourceTemplate(uriTemplate, {
    list: () => ({
      resources: operations.map(({ name, title }) => ({
        uri: `cloudops://reference/${name}`,
        name,
        title: name,
        description: `${title}: arguments, rules, defaults and what is not documented`,
        mimeType,
      })),
    }),
    complete: { operation: (value) => names.filter((name) => name.startsWith(value)) },
  });
  server.registerResource(referenceName, template, listing, (uri, { operation }) => {
    const found = operations.find(({ name }) => name === operation);
    if (found === undefined)
      throw new ResourceNotFoundError(uri.href, `Not found: ${uri.href}. The operations are ${names.join(', ')}.`);
    return contents(uri, operationReference(found));
  });
}
