import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import type { Operation } from '../../tools/define-operation.js';
import { decideTool, type ViewName, viewMimeType, viewUris } from './contract/apps.js';
import { decisions } from './contract/change-data.js';

/** The view that shows what an operation answers, if there is one. */
export function viewOf({ change, pages }: Operation): ViewName | undefined {
  if (change !== undefined) return 'change';
  return pages?.parts === undefined ? undefined : 'upload';
}

/** The `_meta` of a tool with a view, for a client that shows views. Older hosts read the second name. */
export const viewOfTool = (view: ViewName) => ({
  ui: { resourceUri: viewUris[view] },
  'ui/resourceUri': viewUris[view],
});

/** The arguments of the tool behind the buttons. */
export const decisionSchema = z.strictObject({ ticket: z.string(), decision: z.enum(decisions) });

/** The listing of that tool. Hosts keep it from models. */
export const decideToolListing = {
  name: decideTool,
  title: 'Decide on a change',
  description:
    'Carries out or turns down a plan with a click of the user in the change view, or tells what became of it. Not for agents.',
  inputSchema: {
    type: 'object' as const,
    properties: { ticket: { type: 'string' }, decision: { type: 'string', enum: [...decisions] } },
    required: ['ticket', 'decision'],
    additionalProperties: false,
  },
  annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true },
  _meta: { ui: { visibility: ['app'] } },
};

const descriptions: Readonly<Record<ViewName, string>> = {
  upload: 'A map of the parts of an upload',
  change: 'A change, for a person to decide on',
};

/** A view as a resource. It is read from disk when it is asked for. */
export const viewResource = (view: ViewName) => ({
  listing: { uri: viewUris[view], name: `${view} view`, title: descriptions[view], mimeType: viewMimeType },
  text: () => readView(view),
  _meta: { ui: { csp: {}, prefersBorder: true } },
});

/** From the bundle's own file, from one of its chunks, and from the source. */
const places = ['./ui/', '../ui/', '../../../dist/ui/'];

/** The HTML of a view, or of the page that `cloudops-mcp view` shows one in. @throws if it has not been built */
export async function readView(name: ViewName | 'page'): Promise<string> {
  const attempts = places.map((place) => readFile(new URL(`${place}${name}.html`, import.meta.url), 'utf8'));
  return Promise.any(attempts);
}
