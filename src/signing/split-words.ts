/** Splits a command into words, as botocore splits `credential_process`. No shell is started. */

interface Rules {
  /** An unpaired quotation mark is a match of its own. */
  readonly word: RegExp;
  readonly unpaired: readonly string[];
  readonly unquote: (word: string) => string;
}

/** In double quotes, a backslash escapes only a double quote or a backslash. */
const posix: Rules = {
  unpaired: ['"', "'", '\\'],
  word: /(?:[^\s'"\\]|\\[\s\S]|'[^']*'|"(?:[^"\\]|\\[\s\S])*")+|\S/g,
  unquote: (word) =>
    word.replace(
      /'([^']*)'|"((?:[^"\\]|\\[\s\S])*)"|\\([\s\S])/g,
      (_all, single?: string, double?: string, escaped?: string) =>
        single ?? double?.replace(/\\(["\\])/g, '$1') ?? escaped ?? '',
    ),
};

/** Backslashes before a double quote escape each other in pairs. */
const windows: Rules = {
  unpaired: ['"'],
  word: /(?:[^ \t"\\]|\\+(?!["\\])|(?:\\\\)*\\"|(?:\\\\)+(?=")|"(?:[^"\\]|\\+(?!["\\])|(?:\\\\)*\\"|(?:\\\\)+(?="))*")+|\S/g,
  unquote: (word) =>
    word.replace(
      /(\\*)"/g,
      (_all, slashes: string) => slashes.slice(Math.ceil(slashes.length / 2)) + (slashes.length % 2 === 1 ? '"' : ''),
    ),
};

/** Undefined if a quotation mark has no pair, or if nothing follows a backslash. */
export function splitWords(command: string, platform: NodeJS.Platform): readonly string[] | undefined {
  const { word, unpaired, unquote } = platform === 'win32' ? windows : posix;
  const words = command.match(word) ?? [];
  return words.some((text) => unpaired.includes(text)) ? undefined : words.map(unquote);
}
