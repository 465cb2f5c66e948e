import { adviceKey } from '../../src/mcp/views/contract/parts-data.js';
import { type Fields, fieldsOf, readText, textsOf } from '../../src/mcp/views/contract/read-fields.js';
import type { Host, ToolResult } from '../host/host.js';
import { type FormatTime, timeFormat } from '../shared/appearance.js';
import { startView } from '../shared/start-view.js';
import { createAutoRefresh } from './auto-refresh.js';
import { createPartDetails, partText } from './part-details.js';
import { isComplete, type PartState, partStates, readUpload, statesOf, type Upload } from './upload.js';
import { createUploadPage, stateNames } from './upload-page.js';

const refreshMs = 10_000;

/** The server gives a call a minute; the way there and back takes a little. */
const answerMs = 75_000;

/** Shows the stored parts of an upload, and refreshes while the upload goes on. */
export async function startUploadView(): Promise<void> {
  let host: Host | undefined;
  let formatTime: FormatTime = timeFormat({ locale: undefined, timeZone: undefined });
  let args: Fields = {};
  let upload: Upload | undefined;
  let states: readonly PartState[] = [];
  let looked: readonly [number, number] = [1, 1];
  let refreshing = false;

  const page = createUploadPage({
    onLook(first, last) {
      looked = [first, last];
      describeLooked();
    },
    onRefresh: () => void refresh(),
    onAutomatic: () => auto.plan(),
  });
  const details = createPartDetails(
    () => host,
    () => args,
    () => describeLooked(),
  );
  const auto = createAutoRefresh(page.main, {
    everyMs: refreshMs,
    wanted: () => page.isAutomatic() && upload !== undefined && !isComplete(upload) && !upload.stopped,
    run: () => void refresh(),
  });

  document.body.append(page.main);
  page.redraw();
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', page.redraw);
  host = await startView('cloudops-upload', page.main, {
    onInput(given) {
      args = given;
    },
    onResult: (result) => take(result, false),
    onCancelled: () => fail('The call was cancelled.'),
    onTeardown: auto.stop,
    onAppearance: page.redraw,
  });
  if (host !== undefined) formatTime = timeFormat(host.context);
  page.redraw();

  /** Reads the list again, as the call that the view belongs to did. */
  async function refresh(): Promise<void> {
    if (host === undefined || refreshing) return;
    refreshing = true;
    page.allowRefresh(true, true);
    const { maxParts: _, partNumberMarker: __, ...rest } = args;
    const place = upload === undefined ? {} : placeOf(upload);
    try {
      await take(await host.callTool('list_parts', { ...place, ...rest, view: 'summary' }, answerMs), true);
    } catch {
      fail('No answer came. This is the state as of the time below; press Refresh to try again.');
    } finally {
      refreshing = false;
      page.allowRefresh(true, false);
      auto.plan();
    }
  }

  async function take(result: ToolResult, again: boolean): Promise<void> {
    page.allowRefresh(host?.callsTools === true, refreshing);
    if (result.isError) {
      const { summary, problems } = result.structured;
      const sentence = readText(summary) ?? result.text.split('\n')[0] ?? 'The call failed.';
      const advice = readText(result.meta[adviceKey]) ?? '';
      fail([sentence, ...textsOf(problems), advice].join(' ').trim());
      return;
    }
    page.showProblem(undefined);
    const before = again ? upload : undefined;
    upload = await readUpload(result, args);
    states = statesOf(upload, before);
    details.forget();
    page.show(upload, states, formatTime);
    if (again && upload.summary !== before?.summary) host?.updateModelContext(upload.summary);
    // A single page says little of an upload.
    if (!again && fieldsOf(result.structured.answer).view === 'parts') void refresh();
    auto.plan();
  }

  /** Shows a problem. The earlier state stays until the user refreshes. */
  function fail(sentence: string): void {
    page.endAutomatic();
    page.showProblem(sentence);
  }

  function describeLooked(): void {
    const [first, last] = looked;
    if (upload !== undefined) page.describePart(first === last ? textOfPart(first, upload) : textOfParts(first, last));
  }

  function textOfPart(number: number, { parts = [], unit }: Upload): string {
    const exact = details.of(number);
    const part = exact ?? parts.find(({ partNumber }) => partNumber === number);
    if (part !== undefined && part.etag === undefined && exact === undefined) details.want(number);
    return partText(number, states[number - 1], part, { unit: exact === undefined ? unit : 1 }, formatTime);
  }

  function textOfParts(first: number, last: number): string {
    const among = states.slice(first - 1, last);
    const found = partStates.flatMap((state) => {
      const count = among.filter((other) => other === state).length;
      return count === 0 ? [] : [`${count} ${stateNames[state]}`];
    });
    return `Parts ${first.toLocaleString('en')} to ${last.toLocaleString('en')}: ${found.join(', ')}`;
  }
}

/** The arguments that name an upload. */
const placeOf = ({ account, bucket, object, uploadId }: Upload) => ({
  ...(account !== undefined && { account }),
  ...{ bucket, object, uploadId },
});
