import { readFile } from 'node:fs/promises';
import type { Operation } from '../../tools/define-operation.js';
import { english, type Translator } from '../../util/language.js';
import { type ViewName, viewMimeType, viewUris } from './view-contract.js';

export function viewOf({ change, pages }: Operation): ViewName | undefined {
  if (change !== undefined) return 'change';
  return pages?.parts === undefined ? undefined : 'upload';
}

/** Links a tool to its view. Older hosts read only the second key. */
export const viewMetaOfTool = (view: ViewName) => ({
  ui: { resourceUri: viewUris[view] },
  'ui/resourceUri': viewUris[view],
});

/** A view as a resource, read from disk at each request. */
export const viewResource = (view: ViewName, { inHtml }: Translator = english) => ({
  uri: viewUris[view],
  name: `${view} view`,
  title: view === 'upload' ? 'A map of the parts of an upload' : 'A change, for a person to decide on',
  mimeType: viewMimeType,
  text: async () => (view === 'change' ? inHtml(await readView(view)) : readView(view)),
  _meta: { ui: { csp: {}, prefersBorder: true } },
});

/** Reads the HTML of a view or a page for decisions. @throws if the views were not built */
export async function readView(name: ViewName | 'page' | 'list'): Promise<string> {
  // From the bundle's main file, from its chunks, and from the source.
  const attempts = ['./ui/', '../ui/', '../../../dist/ui/'].map((folder) =>
    readFile(new URL(`${folder}${name}.html`, import.meta.url), 'utf8'),
  );
  return Promise.any(attempts);
}
