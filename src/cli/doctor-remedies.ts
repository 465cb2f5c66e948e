import { type SafeText, say, words } from '../util/safe-text.js';

/** The remedy for a setting whose problem does not name one. */
export function remedyOfSetting(problem: SafeText): SafeText {
  const [, code] = / \(([A-Z]{4,})\)/.exec(problem.text) ?? [];
  const what = code === undefined ? undefined : fileRemedies[code];
  if (what !== undefined) return say`${what} Then run doctor again for the other checks.`;
  return words('Change or unset it, then run doctor again for the other checks.');
}

/** By the system's code for a file that cannot be used. */
const fileRemedies: Readonly<Record<string, SafeText>> = {
  ENOENT: words('There is no such file: correct the path, or create the file.'),
  ENOTDIR: words('A part of the path is a file, not a folder: correct the path.'),
  EISDIR: words('It is a folder: name a file in it.'),
  EACCES: words('Let the user that cloudops-mcp runs as read it.'),
  EPERM: words('Let the user that cloudops-mcp runs as read it.'),
};

/** Remedies for keys that cannot be had: the first that fits the problem counts. */
const keyRemedies: readonly (readonly [RegExp, SafeText])[] = [
  [/printed keys that have expired/, words('Sign in again with the program that prints the keys.')],
  [
    /^(?:CLOUDOPS_CREDENTIAL_PROCESS|credential_process of \S+) (?!has)/,
    words('Run the program by hand: it has to print the keys as JSON, and end with exit code 0.'),
  ],
  [/there is no profile/, words('Add the profile there, or name another one in CLOUDOPS_PROFILE.')],
  [/is empty|are missing/, words('Write the key, and nothing else, into the file.')],
  [/is larger than/, words('Name a file that has the key and nothing else.')],
  [/quotation mark|no keys and no/, words('Correct the profile in ~/.aws/config or ~/.aws/credentials.')],
];

/** The remedy for a problem with keys. */
export function remedyOfKeys(reason: SafeText): SafeText {
  const [, code = ''] = /\(([A-Z]{4,})\)/.exec(reason.text) ?? [];
  const known = keyRemedies.find(([said]) => said.test(reason.text))?.[1] ?? fileRemedies[code];
  return say`${known ?? words('Give the account keys of its own.')} Until then, calls are refused.`;
}
