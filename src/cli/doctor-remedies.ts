/** What to do about a setting, where its problem does not say it itself. */
export function remedyOfSetting(problem: string): string {
  const [, code] = / \(([A-Z]{4,})\)/.exec(problem) ?? [];
  const what = code === undefined ? undefined : fileRemedies[code];
  if (what !== undefined) return `${what} Then run doctor again for the other checks.`;
  return 'Change or unset it, then run doctor again for the other checks.';
}

/** By the system's code for a file that cannot be used. */
const fileRemedies: Readonly<Record<string, string>> = {
  ENOENT: 'There is no such file: correct the path, or create the file.',
  ENOTDIR: 'A part of the path is a file, not a folder: correct the path.',
  EISDIR: 'It is a folder: name a file in it.',
  EACCES: 'Let the user that cloudops-mcp runs as read it.',
  EPERM: 'Let the user that cloudops-mcp runs as read it.',
};

/** What to do about keys that cannot be had: the first that fits what was said of them. */
const keyRemedies: readonly (readonly [RegExp, string])[] = [
  [/printed keys that have expired/, 'Sign in again with the program that prints the keys.'],
  [
    /^(?:CLOUDOPS_CREDENTIAL_PROCESS|credential_process of \S+) (?!has)/,
    'Run the program by hand: it has to print the keys as JSON, and end with exit code 0.',
  ],
  [/there is no profile/, 'Add the profile there, or name another one in CLOUDOPS_PROFILE.'],
  [/is empty|are missing/, 'Write the key, and nothing else, into the file.'],
  [/is larger than/, 'Name a file that has the key and nothing else.'],
  [/quotation mark|no keys and no/, 'Correct the profile in ~/.aws/config or ~/.aws/credentials.'],
];

/** What to do about keys, from what was said of them. */
export function remedyOfKeys(reason: string): string {
  const [, code = ''] = /\(([A-Z]{4,})\)/.exec(reason) ?? [];
  const known = keyRemedies.find(([said]) => said.test(reason))?.[1] ?? fileRemedies[code];
  return `${known ?? 'Give the account keys of its own.'} Until then, calls are refused.`;
}
