import { adviceKey } from '../../src/mcp/views/contract/parts-data.js';
import { type Fields, fieldsOf, readText, textsOf } from '../../src/mcp/views/contract/read-fields.js';
import type { Host, ToolResult } from '../host/host.js';
import { type FormatTime, timeFormat } from '../shared/appearance.js';
import { startView } from '../shared/start-view.js';
import { createAutoRefresh } from './auto-refresh.js';
import { createPartDetails, partText, readPartsPage } from './part-details.js';
import { isComplete, type PartState, partStates, readUpload, statesOf, type Upload } from './upload.js';
import { createUploadPage, stateNames } from './upload-page.js';

const refreshMs = 10_000;

/** Time limit for an answer (milliseconds). The server ends a call after a minute. */
const answerMs = 75_000;

/** Shows the stored parts of an upload, and refreshes while the upload goes on. */
export const startUploadView = (): Promise<void> => new UploadView().start();

class UploadView {
  readonly #page = createUploadPage({
    onPoint: (first, last) => this.#describeParts(first, last),
    onRefresh: () => void this.#refresh(),
    onAutomatic: () => this.#autoRefresh.restart(),
  });
  readonly #autoRefresh = createAutoRefresh(this.#page.main, {
    everyMs: refreshMs,
    isNeeded: () => this.#page.isAutomatic() && this.#mayGrow(),
    run: () => void this.#refresh(),
  });
  readonly #details = createPartDetails({
    readPage: async (marker) => this.#host && readPartsPage(this.#host, this.#args, marker),
    onRead: () => this.#describeParts(),
  });
  #host: Host | undefined;
  #formatTime: FormatTime = timeFormat({ locale: undefined, timeZone: undefined });
  /** The arguments of the call that the view belongs to. */
  #args: Fields = {};
  #upload: Upload | undefined;
  #states: readonly PartState[] = [];
  /** The first and the last part number that the user points at, or selected. */
  #described: readonly [number, number] = [1, 1];
  #isRefreshing = false;

  async start(): Promise<void> {
    const page = this.#page;
    document.body.append(page.main);
    page.redraw();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', page.redraw);
    const host = await startView('cloudops-upload', page.main, {
      onInput: (args) => {
        this.#args = args;
      },
      onResult: (result) => this.#showResult(result, undefined),
      onCancelled: () => this.#showProblem('The call was cancelled.'),
      onTeardown: this.#autoRefresh.stop,
      onAppearance: page.redraw,
    });
    this.#host = host;
    if (host !== undefined) this.#formatTime = timeFormat(host.context);
    page.redraw();
  }

  /** Reads the list again, with the arguments of the call that the view belongs to. */
  async #refresh(): Promise<void> {
    const host = this.#host;
    if (host === undefined || this.#isRefreshing) return;
    this.#setRefreshing(true);
    const { maxParts: _, partNumberMarker: __, ...args } = this.#args;
    const place = this.#upload === undefined ? {} : placeOf(this.#upload);
    try {
      const result = await host.callTool('list_parts', { ...place, ...args, view: 'summary' }, answerMs);
      const before = this.#upload;
      await this.#showResult(result, before);
      const { summary } = this.#upload ?? {};
      if (!result.isError && summary !== undefined && summary !== before?.summary) host.updateModelContext(summary);
    } catch {
      this.#showProblem('No answer came. This is the state as of the time below; press Refresh to try again.');
    } finally {
      this.#setRefreshing(false);
      this.#autoRefresh.restart();
    }
  }

  #setRefreshing(isRefreshing: boolean): void {
    this.#isRefreshing = isRefreshing;
    this.#page.allowRefresh(true, isRefreshing);
  }

  /** @param before the state before a refresh; undefined for the result of the call that the view belongs to */
  async #showResult(result: ToolResult, before: Upload | undefined): Promise<void> {
    this.#page.allowRefresh(this.#host?.callsTools === true, this.#isRefreshing);
    if (result.isError) return this.#showProblem(errorText(result));
    this.#page.showProblem(undefined);
    const upload = await readUpload(result, this.#args);
    this.#upload = upload;
    this.#states = statesOf(upload, before);
    this.#details.forget();
    this.#page.show(upload, this.#states, this.#formatTime);
    // A result of the view `parts` has a single page, which says little about the upload.
    if (!this.#isRefreshing && fieldsOf(result.structured.answer).view === 'parts') void this.#refresh();
    this.#autoRefresh.restart();
  }

  /** Shows a problem. The earlier state stays until the user refreshes. */
  #showProblem(sentence: string): void {
    this.#page.endAutomatic();
    this.#page.showProblem(sentence);
  }

  /** True if further parts may arrive. */
  #mayGrow(): boolean {
    const upload = this.#upload;
    return upload !== undefined && !isComplete(upload) && !upload.stopped;
  }

  /** Describes the parts `first` to `last`, by default again the parts that were described before. */
  #describeParts(first = this.#described[0], last = this.#described[1]): void {
    this.#described = [first, last];
    const upload = this.#upload;
    if (upload === undefined) return;
    this.#page.describePart(first === last ? this.#textOfPart(first, upload) : textOfParts(first, last, this.#states));
  }

  #textOfPart(number: number, { parts = [], unit }: Upload): string {
    const state = this.#states[number - 1];
    const details = this.#details.of(number);
    if (details !== undefined) return partText(number, state, details, { unit: 1 }, this.#formatTime);
    const packed = parts.find(({ partNumber }) => partNumber === number);
    if (packed !== undefined && packed.etag === undefined) this.#details.request(number);
    return partText(number, state, packed, { unit }, this.#formatTime);
  }
}

/** The summary of an error result, its problems and the server's advice. */
function errorText({ structured, text, meta }: ToolResult): string {
  const summary = readText(structured.summary) ?? text.split('\n')[0] ?? 'The call failed.';
  const advice = readText(meta[adviceKey]) ?? '';
  return [summary, ...textsOf(structured.problems), advice].join(' ').trim();
}

/** Describes several parts by the number of parts in each state. */
function textOfParts(first: number, last: number, states: readonly PartState[]): string {
  const shown = states.slice(first - 1, last);
  const counts = partStates.flatMap((state) => {
    const count = shown.filter((other) => other === state).length;
    return count === 0 ? [] : [`${count} ${stateNames[state]}`];
  });
  return `Parts ${first.toLocaleString('en')} to ${last.toLocaleString('en')}: ${counts.join(', ')}`;
}

/** The arguments that name an upload. */
const placeOf = ({ account, bucket, object, uploadId }: Upload) => ({
  ...(account !== undefined && { account }),
  bucket,
  object,
  uploadId,
});
