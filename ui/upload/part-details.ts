import { type Fields, fieldsOf, numberOf, readText, timeOf } from '../../src/mcp/views/contract/read-fields.js';
import type { UploadPart } from '../../src/tools/upload/part.js';
import { humanBytes } from '../../src/util/human.js';
import type { Host } from '../host/host.js';
import type { FormatTime } from '../shared/appearance.js';
import type { PartState, Upload } from './upload.js';

/** Details of parts that the packed data lacks. A page of details is read when the user rests on a part. */
export interface PartDetails {
  /** The details of a part, if they were read. `onChange` is called when more were read. */
  of(partNumber: number): UploadPart | undefined;
  /** The user rests on the part. */
  want(partNumber: number): void;
  /** Drops all details, because parts may have changed. */
  forget(): void;
}

/** The page of a part is read after the user has rested on the part for this time. */
const restMs = 300;

/** Parts a page. */
const page = 100;

const answerMs = 60_000;

export function createPartDetails(host: () => Host | undefined, args: () => Fields, onChange: () => void): PartDetails {
  let known = new Map<number, UploadPart>();
  let asked = new Set<number>();
  let resting: ReturnType<typeof setTimeout> | undefined;

  const read = async (partNumber: number) => {
    const marker = Math.floor((partNumber - 1) / page) * page;
    if (asked.has(marker)) return;
    const [into, askedNow] = [known, asked];
    askedNow.add(marker);
    try {
      const { bucket, object, uploadId, region } = args();
      const place = { bucket, object, uploadId, ...(region !== undefined && { region }) };
      const view = { view: 'parts', maxParts: page, partNumberMarker: marker };
      const { structured, isError } = (await host()?.callTool('list_parts', { ...place, ...view }, answerMs)) ?? {};
      if (isError === true) return;
      for (const part of partsOf(fieldsOf(fieldsOf(structured).answer).parts)) into.set(part.partNumber, part);
      onChange();
    } catch {
      // The view shows the part without these details. Resting on it again reads them again.
      askedNow.delete(marker);
    }
  };

  return {
    of: (partNumber) => known.get(partNumber),
    want(partNumber) {
      clearTimeout(resting);
      resting = setTimeout(() => void read(partNumber), restMs);
    },
    forget() {
      known = new Map();
      asked = new Set();
    },
  };
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

const whyAbsent = (state: PartState | undefined) =>
  state === 'sending'
    ? 'is probably in flight'
    : state === 'passed'
      ? 'was passed over: later ones have arrived'
      : 'is still to come';

/** The text about one part. */
export function partText(
  number: number,
  state: PartState | undefined,
  part: UploadPart | undefined,
  { unit }: Pick<Upload, 'unit'>,
  formatTime: FormatTime,
): string {
  if (part === undefined) {
    return `Part ${number.toLocaleString('en')} ${whyAbsent(state)}.`;
  }
  const { size, uploadedAt, etag } = part;
  const exact = unit === 1 && size >= 1024 ? ` (${size.toLocaleString('en')} bytes)` : '';
  return [
    `Part ${number.toLocaleString('en')}${state === 'new' ? ', new' : ''}`,
    `${unit === 1 ? '' : 'about '}${humanBytes(size)}${exact}${state === 'small' ? ': too small, because parts but the last need 5 MiB' : ''}`,
    Number.isNaN(uploadedAt) ? 'time not known' : `arrived ${formatTime(uploadedAt)}`,
    ...(etag === undefined ? [] : [`ETag ${etag}`]),
  ].join(' · ');
}
