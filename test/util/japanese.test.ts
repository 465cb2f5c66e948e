import { expect, test } from 'vitest';
import * as z from 'zod';
import refusals from '../../src/calls/refusals.json' with { type: 'json' };
import steps from '../../src/calls/steps.json' with { type: 'json' };
import { decisionWays } from '../../src/changes/change.js';
import { operations } from '../../src/tools/index.js';
import values from '../../src/tools/schema/values.json' with { type: 'json' };
import { fieldInWords, unwrapped } from '../../src/util/field-names.js';
import { humanDuration } from '../../src/util/human.js';
import texts from '../../src/util/japanese.json' with { type: 'json' };
import { createTextTable, translationOf } from '../../src/util/translate.js';
import { ownTexts, sourceFiles, viewTexts } from '../support/own-texts.js';

/** The table of Japanese texts has each text that people decide on, and no other. */

const durations = [5, 300, 7200, 7260, 200_000, 1_300_000].map(humanDuration);

/** All texts of these files are for people. */
const filesForPeople = [
  'src/calls/failed-entries.ts',
  'src/changes/hints.ts',
  'src/changes/plan.ts',
  'src/changes/stored-call.ts',
  'src/changes/typed-name.ts',
  'src/http/change-on-page.ts',
  'src/http/decision-pages.ts',
  'src/http/decisions.ts',
  'src/http/sign-in.ts',
  'src/http/sign-in-at-issuer.ts',
  'src/mcp/elicitation.ts',
  'src/mcp/views',
  'src/tools/abort-multipart-upload.ts',
  'src/tools/abort-multipart-uploads.ts',
  'src/tools/provision-kube-resource-group.ts',
  'src/tools/restore-instance.ts',
  'src/tools/schema',
  'src/tools/upgrade-kube-version.ts',
];

/** Files with texts for agents too. These are for people. */
const mixedFiles: Readonly<Record<string, RegExp>> = {
  'src/calls/failure.ts': /./,
  'src/calls/result-text.ts': /^Also/,
  'src/calls/read-reply.ts': /^its? (?!was)/,
  'src/changes/change-state.ts': /^(?!If the user|Call get_change|This plan of|Somebody has)/,
  'src/changes/conclude-change.ts': /./,
  'src/changes/decide.ts': /click|declined|refusal/,
  'src/changes/plan-change.ts': /^(?!Tell|Try again|When ten|Only the person|, billed|\{0\} with allowRepeat)/,
  'src/changes/required-consent.ts': /\.$/,
  'src/changes/run-change.ts': /^(As of|What is there|You decide)/,
  'src/cli/call-command.ts': /^(To decline|Nothing will)/,
  'src/models/change-texts.ts': /^(?!the effect)/,
  'src/tools/upload/sentences.ts': /^(?! after|.*on this page|More|No more|Check|abort_|the person|(?:The|To)$)/,
};

const viewFiles = ['change', 'list', 'page', 'shared'].flatMap((folder) => sourceFiles(`ui/${folder}`));
const ofViews = new Set([...viewFiles.flatMap(viewTexts), ...durations, '{0} new changes wait.']);

/** The text of a table for people: the second of `[agent|person|operator]`. */
const forPerson = (text: string): string => {
  let values = -1;
  return text
    .replace(/\[([^\]]*)\]/g, (_whole, readers: string) => readers.split('|')[1] ?? readers)
    .replace(/\{\w+\}/g, () => {
      values += 1;
      return `{${values}}`;
    });
};

const ofTables = [
  ...Object.values(refusals).map(({ reason }) => forPerson(reason)),
  ...Object.values(steps.failures).map(({ problem }) => forPerson(problem)),
  ...Object.values(steps.steps).map((step) => forPerson('must' in step ? step.must : step.text)),
  ...Object.values(decisionWays),
];

/** The words of all arguments below a schema. */
function fieldWords(root: z.core.$ZodType, schema = root, path = ''): string[] {
  const inner = unwrapped(schema);
  const own = path === '' ? [] : (fieldInWords(root, path) ?? '').split("'s ");
  if (inner instanceof z.ZodArray) return [...own, ...fieldWords(root, inner.element, `${path}[0]`)];
  if (!(inner instanceof z.ZodObject)) return own;
  const fields = Object.entries(inner.shape).filter(([name]) => !control.includes(name));
  return [
    ...own,
    ...fields.flatMap(([name, field]) => fieldWords(root, field, path === '' ? name : `${path}.${name}`)),
  ];
}
const control = ['planOnly', 'replaces', 'allowRepeat'];

const { resourceGroupStatus, clusterStatus, devopsState, devopsStatusCode, devopsStatusName } = values;
const meanings = [resourceGroupStatus, clusterStatus, devopsState, devopsStatusCode, devopsStatusName];

const ofOperations = [
  ...operations.flatMap(({ change, input, defaults, errors = {} }) =>
    change === undefined
      ? []
      : [
          ...fieldWords(input()),
          ...change.notChecked,
          ...defaults.flatMap(({ value }) => (value.includes(' ') && !value.startsWith('by region') ? [value] : [])),
          ...Object.values(errors).map((advice) => (typeof advice === 'string' ? advice : advice.person)),
          ...(change.ifTooLarge === undefined ? [] : [change.ifTooLarge]),
        ],
  ),
  ...meanings.flatMap((meaning) => Object.values(meaning)),
];

/** Durations, sizes and joints, which are no literals. */
const ofHelpers = [
  ...durations,
  ...[
    '1 byte',
    '2 bytes',
    ',',
    ';',
    'or',
    'and',
    "{0}'s {1}",
    'the {0}',
    'In full: {0}',
    '{0}: {1}. {2}: {3}.',
    'value',
    'initiated',
  ],
  ...['costs money', 'may cost money', 'no way back'],
];

const verificationHints = /^(?:that list_|resource group .*with status|a DevOps server|cluster .*with status)/;

const needed = [
  ...filesForPeople.flatMap(sourceFiles).flatMap(ownTexts),
  ...Object.entries(mixedFiles).flatMap(([file, pattern]) => ownTexts(file).filter((text) => pattern.test(text))),
  ...ofTables,
  ...ofOperations,
  ...ofHelpers,
].filter((text) => /[a-z]/i.test(text) && !verificationHints.test(text));

/** As the table has it: numbers in words are values. */
const templateOf = (text: string): string => {
  let values = -1;
  return /\{\d+\}/.test(text)
    ? text
    : text.replace(/\d+/g, () => {
        values += 1;
        return `{${values}}`;
      });
};

const isIn = (table: Readonly<Record<string, string>>) => {
  const names = createTextTable(table);
  return (text: string) =>
    translationOf(names, text) !== undefined || translationOf(names, templateOf(text)) !== undefined;
};

test('each text has a translation', () => {
  const isTranslated = isIn({ ...texts.views, ...texts.server });
  expect(needed.filter((text) => !isTranslated(text))).toEqual([]);
});

test('each text of the views has a translation', () => {
  const isTranslated = isIn(texts.views);
  expect([...ofViews].filter((text) => !isTranslated(text))).toEqual([]);
});

test('the table has no text that nobody shows', () => {
  const all = [...needed, ...ofHelpers, ...sourceFiles('src').flatMap(ownTexts)];
  const isShown = isIn(Object.fromEntries(all.map((text) => [templateOf(text), text])));
  const isVerb = (text: string) => /^[A-Z][a-z]+ \{0\}$/.test(text);
  expect(Object.keys(texts.server).filter((text) => !isShown(text) && !isVerb(text))).toEqual([]);
  const isInView = isIn(Object.fromEntries([...ofViews].map((text) => [templateOf(text), text])));
  expect(Object.keys(texts.views).filter((text) => !isInView(text))).toEqual([]);
});

test('the values of a text are those of its translation', () => {
  const valuesOf = (text: string) => [...new Set(text.match(/\{\d+\}/g))].sort();
  const differing = Object.entries({ ...texts.server, ...texts.views }).filter(
    ([text, translation]) => valuesOf(text).join() !== valuesOf(translation).join(),
  );
  expect(differing.map(([text]) => text)).toEqual([]);
});
