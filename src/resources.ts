import { type McpServer, ResourceNotFoundError, ResourceTemplate } from '@modelcontextprotocol/server';
import { type Principal, visibleCaller } from './calls/principal.js';
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
  /** What the sandbox holds and was asked, as Markdown, where it is in use. */
  readonly sandbox?: (() => Promise<string>) | undefined;
}

const mimeType = 'text/markdown';

/** The one template that clients are shown. */
export const referenceTemplate = {
  name: 'reference',
  uriTemplate: 'cloudops://reference/{operation}',
  title: 'Arguments, rules, defaults and what is not documented, of one operation',
  mimeType,
};

/** The reference as the server knows it, and how it is configured. */
export function registerResources(
  server: McpServer,
  operations: readonly Operation[],
  { principal, configuration, journal, sandbox }: ResourceTexts,
): void {
  const contents = (uri: URL, text: string) => ({ contents: [{ uri: uri.href, mimeType, text }] });
  const fixed: [string, string, string, () => string | Promise<string>][] = [
    [
      'instance-types',
      'cloudops://reference/instance-types',
      'Instance types that each operation accepts',
      instanceTypesReference,
    ],
    [
      'states',
      'cloudops://reference/states',
      'States of groups, clusters and servers, with their meanings',
      statesReference,
    ],
    [
      'configuration',
      'cloudops://configuration',
      'Effective configuration and where each value comes from; no secrets',
      configuration,
    ],
    [
      'journal',
      'cloudops://journal',
      'The last changes that were asked for, and what came of them',
      () => journal(visibleCaller(principal)),
    ],
  ];
  if (sandbox !== undefined)
    fixed.push(['sandbox', 'cloudops://sandbox', 'What the built-in sandbox holds, and what it was asked', sandbox]);
  for (const [name, uri, description, text] of fixed)
    server.registerResource(name, uri, { title: description, mimeType }, async (address) =>
      contents(address, await text()),
    );

  const names = operations.map(({ name }) => name);
  const { name: referenceName, uriTemplate, title } = referenceTemplate;
  const template = new ResourceTemplate(uriTemplate, {
    list: () => ({
      resources: operations.map(({ name, title }) => ({
        uri: `cloudops://reference/${name}`,
        name,
        title: `Reference: ${title}`,
        mimeType,
      })),
    }),
    complete: { operation: (value) => names.filter((name) => name.startsWith(value)) },
  });
  server.registerResource(referenceName, template, { title, mimeType }, (uri, { operation }) => {
    const found = operations.find(({ name }) => name === operation);
    if (found === undefined) throw new ResourceNotFoundError(uri.href, `The operations are ${names.join(', ')}.`);
    return contents(uri, operationReference(found));
  });
}
