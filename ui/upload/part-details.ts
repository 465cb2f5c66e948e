import type { UploadPart } from '../../src/tools/upload/part.js';
import { humanBytes } from '../../src/util/human.js';
import type { Host } from '../host/host.js';
import type { FormatTime } from '../shared/appearance.js';
import { type Fields, fieldsOf, numberOf, readText, timeOf } from '../shared/read-fields.js';
import type { PartState } from './upload.js';

/** ETags of parts, which the first answer lacks for large uploads. They are read in pages while the user points at parts. */
interface PartDetails {
  /** Returns the details of a part. Undefined if its page was not read. */
  of(partNumber: number): UploadPart | undefined;
  /** Reads the page of a part, unless another part is requested within `pointerRestMs`. */
  request(partNumber: number): void;
  /** Drops all details. Called after a refresh, because parts may have changed. */
  forget(): void;
}

interface PartDetailsOptions {
  /** Reads the page of parts after the part number `marker`. Resolves with undefined if the tool answers with an error. */
  readPage(marker: number): Promise<readonly UploadPart[] | undefined>;
  /** Called after the details of a page were added. */
  onRead(): void;
}

/** How long the pointer has to stay on a part before its page is read (milliseconds). */
const pointerRestMs = 300;

const partsPerPage = 100;

/** Time limit for the answer with a page of parts (milliseconds). */
const answerMs = 60_000;

/** The details that were read since the last refresh, and the markers of the pages that were requested. */
interface Snapshot {
  readonly parts: Map<number, UploadPart>;
  readonly requestedPages: Set<number>;
}

const emptySnapshot = (): Snapshot => ({ parts: new Map(), requestedPages: new Set() });

/** Reads the details of parts in pages of 100, each page once until `forget`. */
export function createPartDetails({ readPage, onRead }: PartDetailsOptions): PartDetails {
  let snapshot = emptySnapshot();
  let pointerTimer: ReturnType<typeof setTimeout> | undefined;

  /** Reads the page with a part, unless it was requested before. */
  const readPageOf = async (partNumber: number) => {
    // Keeps the present collections, so that an answer after `forget` does not change the new snapshot.
    const { parts, requestedPages } = snapshot;
    // The page after part number 100, for example, has the parts 101 to 200.
    const marker = Math.floor((partNumber - 1) / partsPerPage) * partsPerPage;
    if (requestedPages.has(marker)) return;
    requestedPages.add(marker);

    try {
      const page = await readPage(marker);
      // After an error of the tool, the page is not requested again until `forget`.
      if (page === undefined) return;
      for (const part of page) parts.set(part.partNumber, part);
      onRead();
    } catch {
      // No answer came, so the page is read again the next time that the user points at one of its parts.
      requestedPages.delete(marker);
    }
  };

  return {
    of: (partNumber) => snapshot.parts.get(partNumber),
    request(partNumber) {
      clearTimeout(pointerTimer);
      pointerTimer = setTimeout(() => void readPageOf(partNumber), pointerRestMs);
    },
    forget() {
      // The timer is left running, because the pointer may still rest on the part. Its page is then read into the new snapshot.
      snapshot = emptySnapshot();
    },
  };
}

/** Reads a page of parts with the tool `list_parts`. Undefined if the tool answers with an error. @throws RequestFailed */
export async function readPartsPage(host: Host, args: Fields, marker: number): Promise<UploadPart[] | undefined> {
  const { bucket, object, uploadId, region } = args;
  const upload = { bucket, object, uploadId, ...(region !== undefined && { region }) };
  const page = { view: 'parts', maxParts: partsPerPage, partNumberMarker: marker };
  const result = await host.callTool('list_parts', { ...upload, ...page }, answerMs);
  return result.isError ? undefined : partsOf(fieldsOf(result.structured.answer).parts);
}

const partsOf = (parts: unknown): UploadPart[] =>
  (Array.isArray(parts) ? parts : []).map(fieldsOf).flatMap(({ partNumber, size, lastModified, etag }) => {
    const number = numberOf(partNumber);
    if (number === undefined) return [];
    return [
      {
        partNumber: number,
        size: numberOf(size) ?? 0,
        uploadedAt: timeOf(lastModified) ?? Number.NaN,
        etag: readText(etag),
      },
    ];
  });

/** Describes a part, such as "Part 7 · 8 MiB · arrived …". `part` is undefined if it is not stored. */
export function partText(
  number: number,
  state: PartState | undefined,
  part: UploadPart | undefined,
  formatTime: FormatTime,
): string {
  const name = `Part ${number.toLocaleString('en')}`;
  if (part === undefined)
    return `${name} is ${state === 'missing' ? 'missing: in flight, failed, or left out by the client' : 'still to come'}.`;

  const { size, uploadedAt, etag } = part;
  const warning = state === 'small' ? ': too small, because parts but the last need 5 MiB' : '';
  const facts = [
    state === 'new' ? `${name}, new` : name,
    `${sizeText(size)}${warning}`,
    Number.isNaN(uploadedAt) ? 'time not known' : `arrived ${formatTime(uploadedAt)}`,
  ];
  if (etag !== undefined) facts.push(`ETag ${etag}`);
  return facts.join(' · ');
}

const sizeText = (size: number): string =>
  size < 1024 ? humanBytes(size) : `${humanBytes(size)} (${size.toLocaleString('en')} bytes)`;
