/** `96.0 MiB` for 100663296. */
export function humanBytes(bytes: number): string {
  const units = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  const power = bytes < 1024 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10));
  return power === 0 ? countText(bytes, 'byte') : `${(bytes / 1024 ** power).toFixed(1)} ${units[power]}`;
}

/** `1 h 30 min` for 5430. */
export function humanDuration(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return hours < 14 * 24 ? `${Math.floor(hours / 24)} days ${hours % 24} h` : `${Math.floor(hours / 24)} days`;
}

export const countText = (count: number, noun: string) =>
  `${count} ${count === 1 ? noun : `${noun.replace(/([b-df-hj-np-tv-z])y$/, '$1ie')}s`}`;

export const listText = (words: readonly unknown[], last = 'and') =>
  words.length < 2 ? words.join() : `${words.slice(0, -1).join(', ')} ${last} ${words.at(-1)}`;

export const sentenceCase = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** Drops `false`, so that a list can have conditions. */
export const sentences = <Text>(...all: readonly (Text | false)[]): Text[] =>
  all.filter((sentence): sentence is Text => sentence !== false);

export function markdownTable(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`;
  return [line(heads), `|${heads.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n');
}
