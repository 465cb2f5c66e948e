import { adviceKey } from '../../src/mcp/views/view-contract.js';
import type { Host, ToolResult } from '../host/host.js';
import { type FormatTime, timeFormat } from '../shared/appearance.js';
import { type Fields, fieldsOf, readText, textsOf } from '../shared/read-fields.js';
import { startView } from '../shared/start-view.js';
import { createAutoRefresh } from './auto-refresh.js';
import { isComplete, type PartState, partStates, partText, readUpload, statesOf, type Upload } from './upload.js';
import { createUploadPage, stateNames } from './upload-page.js';

const refreshMs = 10_000;

/** Time limit for the answer to a refresh (milliseconds). It is longer than the minute after which cloudops-mcp ends a call. */
const answerMs = 75_000;

/** Shows the stored parts of an upload, and refreshes them while more parts arrive. */
export const startUploadView = (): Promise<void> => new UploadView().start();

class UploadView {
  readonly #page = createUploadPage({
    onPoint: (first, last) => this.#describeParts(first, last),
    onRefresh: () => void this.#refresh(),
    onAutomaticChange: () => this.#autoRefresh.restart(),
  });
  readonly #autoRefresh = createAutoRefresh(this.#page.main, {
    delayMs: refreshMs,
    isNeeded: () => this.#page.isAutomatic() && this.#mayGrow(),
    run: () => void this.#refresh(),
  });
  #host: Host | undefined;
  #formatTime: FormatTime = timeFormat({ locale: undefined, timeZone: undefined });
  /** The arguments of the tool call for which the host shows the view. */
  #args: Fields = {};
  #upload: Upload | undefined;
  #states: readonly PartState[] = [];
  #isRefreshing = false;

  /** Shows the page, and connects it to the host. */
  async start(): Promise<void> {
    const page = this.#page;
    document.body.append(page.main);
    // Draws the samples of the legend. Their colours come from the style sheet, which applies only to elements in the document.
    page.redraw();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', page.redraw);

    const host = await startView('cloudops-upload', page.main, {
      onInput: (args) => {
        this.#args = args;
      },
      onResult: (result) => this.#showResult(result),
      onCancelled: () => this.#showProblem('The call was cancelled.'),
      onTeardown: this.#autoRefresh.stop,
      onAppearance: page.redraw,
    });

    this.#host = host;
    if (host !== undefined) this.#formatTime = timeFormat(host.context);
    // Draws again in the colours of the host.
    page.redraw();
  }

  /** Reads the state of the upload again, shows it, and passes a changed summary to the model. */
  async #refresh(): Promise<void> {
    const host = this.#host;
    if (host === undefined || this.#isRefreshing) return;
    this.#setRefreshing(true);

    // With `view: 'summary'`, the tool reads all parts, so the arguments for a single page, and for some fields, are left out.
    const { maxParts: _, partNumberMarker: __, fields: ___, ...requestedArgs } = this.#args;
    // The names in the shown state stand in for arguments that were left out, such as the account.
    const shownNames = this.#upload === undefined ? {} : namesOf(this.#upload);
    const args = { ...shownNames, ...requestedArgs, view: 'summary' };
    try {
      const result = await host.callTool('list_parts', args, answerMs);
      // Read after the call, because the host may have passed a newer result meanwhile.
      const previous = this.#upload;
      this.#showResult(result, { newSince: previous });

      const summary = this.#upload?.summary;
      const isChanged = summary !== undefined && summary !== previous?.summary;
      if (!result.isError && isChanged) host.updateModelContext(summary);
    } catch {
      this.#showProblem('No answer came. This is the state as of the time below; press Refresh to try again.');
    } finally {
      this.#setRefreshing(false);
      this.#autoRefresh.restart();
    }
  }

  #setRefreshing(isRefreshing: boolean): void {
    this.#isRefreshing = isRefreshing;
    this.#page.updateControls({ canRefresh: true, isRefreshing });
  }

  /** Shows a result of `list_parts`. Marks the parts that are not in `newSince` as new. Without `newSince`, marks none. */
  #showResult(result: ToolResult, { newSince }: { readonly newSince?: Upload | undefined } = {}): void {
    this.#page.updateControls({ canRefresh: this.#host?.callsTools === true, isRefreshing: this.#isRefreshing });
    if (result.isError) {
      this.#showProblem(errorText(result));
      return;
    }

    this.#page.showProblem(undefined);
    const upload = readUpload(result, this.#args);
    this.#upload = upload;
    this.#states = statesOf(upload, newSince);
    this.#page.show(upload, this.#states, this.#formatTime);

    // If the first call asked for a page of parts (`view: "parts"`), a refresh reads the other parts too.
    if (!this.#isRefreshing && fieldsOf(result.structured.answer).view === 'parts') void this.#refresh();
    this.#autoRefresh.restart();
  }

  /** Shows a problem above the earlier state, and ends automatic refreshes, which would repeat the problem. */
  #showProblem(sentence: string): void {
    this.#page.clearAutomatic();
    this.#page.showProblem(sentence);
  }

  /** True if more parts may arrive, so that another refresh makes sense. */
  #mayGrow(): boolean {
    const upload = this.#upload;
    return upload !== undefined && !isComplete(upload) && !upload.stopped;
  }

  #describeParts(first: number, last: number): void {
    const upload = this.#upload;
    if (upload === undefined) return;
    this.#page.describePart(first === last ? this.#textOfPart(first, upload) : textOfParts(first, last, this.#states));
  }

  #textOfPart(number: number, { parts = [] }: Upload): string {
    const state = this.#states[number - 1];
    // The result of a large upload has no ETags.
    const part = parts.find(({ partNumber }) => partNumber === number);
    return partText(number, state, part, this.#formatTime);
  }
}

/** The text of an error result: its summary, its problems and advice. */
function errorText({ structured, text, meta }: ToolResult): string {
  const summary = readText(structured.summary) ?? text.split('\n')[0] ?? 'The call failed.';
  const advice = readText(meta[adviceKey]) ?? '';
  return [summary, ...textsOf(structured.problems), advice].join(' ').trim();
}

/** Describes several parts by their states, such as "Parts 1 to 4: 3 there, 1 missing". */
function textOfParts(first: number, last: number, states: readonly PartState[]): string {
  const shown = states.slice(first - 1, last);
  const counts = partStates.flatMap((state) => {
    const count = shown.filter((stateOfPart) => stateOfPart === state).length;
    return count === 0 ? [] : [`${count} ${stateNames[state]}`];
  });
  return `Parts ${first.toLocaleString('en')} to ${last.toLocaleString('en')}: ${counts.join(', ')}`;
}

/** The arguments of `list_parts` that name an upload. */
const namesOf = ({ account, bucket, object, uploadId }: Upload) => ({
  ...(account !== undefined && { account }),
  bucket,
  object,
  uploadId,
});
