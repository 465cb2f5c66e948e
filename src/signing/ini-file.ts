import { type SafeText, say, words } from '../util/safe-text.js';

/** Reads the INI files that AWS tools share, as Python's `configparser` reads them for botocore. */

/** By name in lower case. An option inside another one has both names: `s3.endpoint_url`. */
export type Options = ReadonlyMap<string, string>;

type IniFile =
  | { readonly kind: 'sections'; readonly sections: ReadonlyMap<string, Options> }
  /** Like AWS tools, this server then uses nothing of the file. */
  | { readonly kind: 'unreadable'; readonly problem: SafeText };

/** A line that is indented more than its option's line continues the value. */
export function parseIni(text: string): IniFile {
  const sections = new Map<string, Map<string, string[]>>();
  /** Holds the values that every section has if it does not set them. */
  const defaults = new Map<string, string[]>();
  let section: Map<string, string[]> | undefined;
  let value: string[] | undefined;
  let indentation = 0;

  const beginSection = (header: string): SafeText | undefined => {
    if (sections.has(header)) return say`begins the section ${header} a second time`;
    section = header === 'DEFAULT' ? defaults : new Map();
    if (section !== defaults) sections.set(header, section);
    value = undefined;
    return undefined;
  };
  const beginOption = (line: string): SafeText | undefined => {
    if (section === undefined) return words('stands before the first section');
    const [, name = '', first = ''] = /^(.*?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (name === '') return words('is neither a section nor a setting with its value');
    if (section.has(name.toLowerCase())) return say`sets ${name.toLowerCase()} a second time`;
    value = [first];
    section.set(name.toLowerCase(), value);
    return undefined;
  };
  const begin = (line: string) => {
    const header = /^\[(.+)\]/.exec(line)?.[1];
    return header === undefined ? beginOption(line) : beginSection(header);
  };

  for (const [index, line] of text
    .replace(/^\uFEFF/, '')
    .split(/\r\n?|\n/)
    .entries()) {
    const depth = line.search(/\S/);
    const isComment = /^\s*[#;]/.test(line);
    if (isComment || (depth === -1 && value === undefined)) continue;
    if (value !== undefined && (depth === -1 || depth > indentation)) {
      value.push(line.trim());
      continue;
    }
    indentation = depth;
    const problem = begin(line.trim());
    if (problem !== undefined) return { kind: 'unreadable', problem: say`line ${index + 1} ${problem}` };
  }
  const flat = new Map<string, Options>();
  for (const [name, options] of sections) {
    const flatOptions = flatten(new Map([...defaults, ...options]));
    if ('problem' in flatOptions) return { kind: 'unreadable', ...flatOptions };
    flat.set(name, flatOptions);
  }
  return { kind: 'sections', sections: flat };
}

/** A value that begins on a second line holds options of its own, such as `endpoint_url` in `s3`. */
function flatten(options: ReadonlyMap<string, readonly string[]>): Options | { readonly problem: SafeText } {
  const flat = new Map<string, string>();
  for (const [name, lines] of options) {
    const text = lines.join('\n').trimEnd();
    if (!text.startsWith('\n')) {
      flat.set(name, text);
      continue;
    }
    for (const line of lines.filter((each) => each !== '')) {
      const [, inner, value] = /^(.*?)\s*=\s*(.*)$/.exec(line) ?? [];
      if (inner === undefined || value === undefined) return { problem: say`a line below ${name} has no "="` };
      flat.set(`${name}.${inner}`, value);
    }
  }
  return flat;
}
