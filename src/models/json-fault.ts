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

/** Says where a text stops being JSON, because `JSON.parse` seldom names a position, and quotes the text, which may hold a secret. */
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
  index: number;
  /** The brackets that close the open lists and objects, the inner one last. */
  closers: (']' | '}')[];
  isAfterValue: boolean;
}

/** Returns what is missing, or undefined if the text goes on as JSON does. */
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

/** Reads only the opening bracket of a list or object. */
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

function take(scan: Scan, token: keyof typeof tokens): boolean {
  const pattern = new RegExp(`(?:${tokens[token]})${space}`, 'y');
  pattern.lastIndex = scan.index;
  const follows = pattern.test(scan.text);
  if (follows) scan.index = pattern.lastIndex;
  return follows;
}
