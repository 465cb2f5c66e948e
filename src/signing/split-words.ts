/** Splits a command into words, as botocore splits `credential_process`: by the rules of a POSIX shell, or of Windows. No shell is started. */

interface Rules {
  /** Matches each word. A quotation mark without its pair, or a backslash before nothing, is a match of its own. */
  readonly word: RegExp;
  readonly unpaired: readonly string[];
  readonly unquote: (word: string) => string;
}

/** In double quotes, a backslash escapes only a double quote or a backslash. Elsewhere it escapes any character. */
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

/** Only double quotes quote. Backslashes before a double quote escape each other in pairs, and an odd one escapes the quote. */
const windows: Rules = {
  unpaired: ['"'],
  word: /(?:[^ \t"\\]|\\+(?!["\\])|(?:\\\\)*\\"|(?:\\\\)+(?=")|"(?:[^"\\]|\\+(?!["\\])|(?:\\\\)*\\"|(?:\\\\)+(?="))*")+|\S/g,
  unquote: (word) =>
    word.replace(
      /(\\*)"/g,
      (_all, slashes: string) => slashes.slice(Math.ceil(slashes.length / 2)) + (slashes.length % 2 === 1 ? '"' : ''),
    ),
};

/** Returns the words of a command. Undefined if a quotation mark has no pair, or if nothing follows a backslash. */
export function splitWords(command: string, platform: NodeJS.Platform): readonly string[] | undefined {
  const { word, unpaired, unquote } = platform === 'win32' ? windows : posix;
  const words = command.match(word) ?? [];
  return words.some((text) => unpaired.includes(text)) ? undefined : words.map(unquote);
}
