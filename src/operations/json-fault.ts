const space = String.raw`[ \t\n\r]*`;
const string = String.raw`"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"`;
const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const tokens = {
  space: '',
  bracket: '[[{]',
  comma: ',',
  name: `${string}${space}:`,
  value: `${string}|${number}|true|false|null`,
} as const;

/**
 * Says where a text that is not JSON stops being JSON, and what is missing there. `JSON.parse` names no position for most faults, and quotes
 * the text, which may hold a secret.
 */
export function jsonFault(text: string): string {
  const scan: Scan = { text, index: 0, closers: [], isAfterValue: false };
  take(scan, 'space');
  let missing: string | undefined;
  while (missing === undefined) missing = missingAt(scan);
  return `${missing} is missing at ${scan.index < text.length ? placeIn(text, scan.index) : 'the end'}`;
}

function placeIn(text: string, index: number): string {
  const lines = text.slice(0, index).split('\n');
  const character = `character ${(lines.at(-1)?.length ?? 0) + 1}`;
  return text.includes('\n') ? `line ${lines.length}, ${character}` : character;
}

interface Scan {
  readonly text: string;
  /** Index of the next token. */
  index: number;
  /** The brackets that close the open lists and objects, the inner one last. */
  closers: string[];
  isAfterValue: boolean;
}

/**
 * Reads a closing bracket, or a value with the comma and the name before it. Of a list or object, reads only the opening bracket, so the next
 * call reads its first entry. Returns what is missing if the text does not go on as JSON does.
 */
function missingAt(scan: Scan): string | undefined {
  const { text, closers } = scan;
  const closer = closers.at(-1);
  if (scan.isAfterValue && closer === undefined) return 'the end of the text';
  if (closer !== undefined && text[scan.index] === closer) {
    scan.index += 1;
    take(scan, 'space');
    closers.pop();
    scan.isAfterValue = true;
    return undefined;
  }
  if (scan.isAfterValue && !take(scan, 'comma')) return `"," or "${closer}"`;
  if (closer === '}' && !take(scan, 'name')) return 'a name in double quotation marks with ":"';

  const isList = text[scan.index] === '[';
  if (take(scan, 'bracket')) {
    closers.push(isList ? ']' : '}');
    scan.isAfterValue = false;
    return undefined;
  }
  if (!take(scan, 'value')) return 'a value';
  scan.isAfterValue = true;
  return undefined;
}

/** Goes on behind a token and the space after it. Returns false if the token does not follow. */
function take(scan: Scan, token: keyof typeof tokens): boolean {
  const pattern = new RegExp(`(?:${tokens[token]})${space}`, 'y');
  pattern.lastIndex = scan.index;
  const follows = pattern.test(scan.text);
  if (follows) scan.index = pattern.lastIndex;
  return follows;
}
