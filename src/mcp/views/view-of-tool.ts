import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import { longestReason } from '../../changes/decline-reason.js';
import type { Operation } from '../../tools/define-operation.js';
import { english, type Translator } from '../../util/language.js';
import { decideTool, type ViewName, viewMimeType, viewUris } from './contract/apps.js';
import { decisions } from './contract/change-data.js';

/** Returns the view that shows an operation's results. */
export function viewOf({ change, pages }: Operation): ViewName | undefined {
  if (change !== undefined) return 'change';
  return pages?.parts === undefined ? undefined : 'upload';
}

/** Links a tool to its view. Older hosts read only the second key. */
export const viewOfTool = (view: ViewName) => ({
  ui: { resourceUri: viewUris[view] },
  'ui/resourceUri': viewUris[view],
});

export const decisionSchema = z.strictObject({
  ticket: z.string(),
  decision: z.enum(decisions),
  reason: z.string().min(1).max(longestReason).optional(),
  name: z.string().max(longestReason).optional(),
});

/** The listing of the tool `decide_change`. Hosts hide the tool from models. */
export const decideToolListing = {
  name: decideTool,
  title: 'Decide on a change',
  description:
    'Carries out or turns down a plan with a click of the user in the change view, or tells what became of it. Not for agents.',
  inputSchema: {
    type: 'object' as const,
    properties: {
      ticket: { type: 'string' },
      decision: { type: 'string', enum: [...decisions] },
      reason: { type: 'string', maxLength: longestReason },
      name: { type: 'string', maxLength: longestReason },
    },
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

/** A view as a resource, read from disk at each request. */
export const viewResource = (view: ViewName, { inHtml }: Translator = english) => ({
  listing: { uri: viewUris[view], name: `${view} view`, title: descriptions[view], mimeType: viewMimeType },
  text: async () => (view === 'change' ? inHtml(await readView(view)) : readView(view)),
  _meta: { ui: { csp: {}, prefersBorder: true } },
});

/** From the bundle's main file, from its chunks, and from the source. */
const viewFolders = ['./ui/', '../ui/', '../../../dist/ui/'];

/** Reads the HTML of a view or a page for decisions. @throws if the views were not built */
export async function readView(name: ViewName | 'page' | 'list'): Promise<string> {
  const attempts = viewFolders.map((folder) => readFile(new URL(`${folder}${name}.html`, import.meta.url), 'utf8'));
  return Promise.any(attempts);
}
