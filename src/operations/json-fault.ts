const space = String.raw`[ \t\n\r]*`;
const string = String.raw`"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"`;
const number = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?`;
const tokens = {
  space: '',
  opener: '[[{]',
  ']': ']',
  '}': '}',
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
  while (missing === undefined) missing = readStep(scan);
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
  closers: (']' | '}')[];
  /** True at a place at which a value has ended, so that a comma, a closing bracket or the end of the text has to follow. */
  isAfterValue: boolean;
}

/**
 * Reads a closing bracket, or a value with the comma and the name before it. Returns what is missing if the text does not go on as JSON does,
 * and undefined if it does.
 */
function readStep(scan: Scan): string | undefined {
  const closer = scan.closers.at(-1);
  if (closer === undefined) return scan.isAfterValue ? 'the end of the text' : readValue(scan);
  if (take(scan, closer)) {
    scan.closers.pop();
    scan.isAfterValue = true;
    return undefined;
  }
  if (scan.isAfterValue && !take(scan, 'comma')) return `"," or "${closer}"`;
  if (closer === '}' && !take(scan, 'name')) return 'a name in double quotation marks with ":"';
  return readValue(scan);
}

/** Reads a value. Of a list or object, reads only the opening bracket, so the next step reads its first entry. Returns what is missing. */
function readValue(scan: Scan): string | undefined {
  const isList = scan.text[scan.index] === '[';
  if (take(scan, 'opener')) {
    scan.closers.push(isList ? ']' : '}');
    scan.isAfterValue = false;
    return undefined;
  }
  if (!take(scan, 'value')) return 'a value';
  scan.isAfterValue = true;
  return undefined;
}

/** Reads a token and the space after it. Returns false if the token does not follow. */
function take(scan: Scan, token: keyof typeof tokens): boolean {
  const pattern = new RegExp(`(?:${tokens[token]})${space}`, 'y');
  pattern.lastIndex = scan.index;
  const follows = pattern.test(scan.text);
  if (follows) scan.index = pattern.lastIndex;
  return follows;
}
