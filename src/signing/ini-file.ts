import { ShownError } from '../util/log.js';
import { type SafeText, say, words } from '../util/safe-text.js';

/** Reads the INI files that AWS tools share, as Python's `configparser` reads them for botocore. */

/** By name in lower case. An option inside another one has both names: `s3.endpoint_url`. */
export type Options = ReadonlyMap<string, string>;

/**
 * A line that is indented more than its option's line continues the value.
 * @throws ShownError if a line cannot be read. Like AWS tools, this server then uses nothing of the file
 */
export function parseIni(text: string): Map<string, Options> {
  const sections = new Map<string, Map<string, string[]>>();
  /** Values that hold in every section. */
  const defaults = new Map<string, string[]>();
  let section: Map<string, string[]> | undefined;
  let value: string[] | undefined;
  let indentation = 0;
  let lineNumber = 0;
  const lineError = (problem: SafeText) => new ShownError(say`line ${lineNumber} ${problem}`);

  const beginSection = (header: string): void => {
    if (sections.has(header)) throw lineError(say`begins the section ${header} a second time`);
    section = header === 'DEFAULT' ? defaults : new Map();
    if (section !== defaults) sections.set(header, section);
    value = undefined;
  };
  const beginOption = (line: string): void => {
    if (section === undefined) throw lineError(words('stands before the first section'));
    const [, name = '', first = ''] = /^(.*?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (name === '') throw lineError(words('is neither a section nor a setting with its value'));
    if (section.has(name.toLowerCase())) throw lineError(say`sets ${name.toLowerCase()} a second time`);
    value = [first];
    section.set(name.toLowerCase(), value);
  };

  for (const line of text.replace(/^\uFEFF/, '').split(/\r\n?|\n/)) {
    lineNumber += 1;
    const depth = line.search(/\S/);
    const isComment = /^\s*[#;]/.test(line);
    if (isComment || (depth === -1 && value === undefined)) continue;
    if (value !== undefined && (depth === -1 || depth > indentation)) {
      value.push(line.trim());
      continue;
    }
    indentation = depth;
    const header = /^\s*\[(.+)\]/.exec(line)?.[1];
    if (header === undefined) beginOption(line.trim());
    else beginSection(header);
  }
  return new Map([...sections].map(([name, options]) => [name, flatten(new Map([...defaults, ...options]))]));
}

/** A value that begins on a second line holds options of its own, such as `endpoint_url` in `s3`. */
function flatten(options: ReadonlyMap<string, readonly string[]>): Options {
  const flat = new Map<string, string>();
  for (const [name, lines] of options) {
    const text = lines.join('\n').trimEnd();
    if (!text.startsWith('\n')) {
      flat.set(name, text);
      continue;
    }
    for (const line of lines.filter((each) => each !== '')) {
      const [, inner = '', value] = /^(.*?)\s*=\s*(.*)$/.exec(line) ?? [];
      if (value === undefined) throw new ShownError(say`a line below ${name} has no "="`);
      flat.set(`${name}.${inner}`, value);
    }
  }
  return flat;
}
