import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fingerprint, withoutSecrets } from '../../src/calls/call-secrets.js';
import type { ResolvedChange } from '../../src/calls/resolved-call.js';
import { requestLines } from '../../src/calls/result-text.js';
import { canBeShown, makePlan, placesOf, planText, questionText } from '../../src/changes/plan.js';
import { questionLimits } from '../../src/mcp/client-quirks.js';
import type { ApiRequest, Operation } from '../../src/tools/define-operation.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { json } from '../../src/tools/request-body.js';
import { encodeRequest } from '../../src/transport/request.js';
import { leavesOf } from '../../src/util/objects.js';
import { quote } from '../../src/util/quote.js';
import { defined, longestName, say, time } from '../../src/util/safe-text.js';
import { callOf, endpoint, keyId } from '../support/planned-call.js';
import { requestOf } from '../support/request-of.js';
import { runs } from '../support/runs.js';

/** What a person reads before they decide: everything that would be sent, or no question at all. */

/** The request of `input`, some of it replaced. */
const requestFor = (more: Partial<ApiRequest>) =>
  encodeRequest('POST', { path: '/v1/instances:restore', body: json(input), ...more }, endpoint);

const now = new Date('2026-11-20T12:00:00Z');
const question = (call: ResolvedChange) => questionText(makePlan(call), call, questionLimits, now);
const input = { backupId: 'a'.repeat(32), instanceId: 'one' };

/** What, the risk, and where. */
const decisionLines = 3;

describe('the question', () => {
  test('has the decision in its first lines, then a line for each thing that there is to know', () => {
    const call = callOf(
      { ...input, availabilityZone: 'east-12', diskSize: 200, networkConfig: { networkId: 'n "1"' } },
      {
        headline: () => say`Create it`,
        consequences: () => [say`It costs money.`, say`It cannot be undone.`],
        named: ['backupId', 'instanceId'],
        warnings: () => [say`It is a warning.`],
        notChecked: ['whether there is room', 'the quota'],
      },
      { defaults: [{ path: 'instanceType', value: 'e-large' }] },
    );
    expect(question(call)?.text.split('\n')).toEqual([
      'Create it?',
      'It costs money.',
      'Region jp-east-1 (given), zone east-12 (given), account AKIDTEST.',
      'It cannot be undone.',
      'Also: availabilityZone "east-12", diskSize 200, networkConfig (networkId "n \\"1\\"").',
      'Defaults: server type e-large.',
      'It is a warning.',
      'Not checked: whether there is room, the quota.',
    ]);
  });

  test('leaves out only what the headline names, or what lies inside it', () => {
    const named = {
      headline: () => say`Create it`,
      consequences: () => [],
      named: ['backupId', 'instanceId', 'networkConfig'],
    };
    const call = callOf({ ...input, networkConfig: { networkId: 'inside' }, networkConfigs: 'beside' }, named);
    expect(question(call)?.text).toContain('Also: networkConfigs "beside".');
    expect(question(call)?.text).not.toContain('inside');
  });

  test('leaves that out in each place of a list', () => {
    const tags = Array.from({ length: 11 }, (_, index) => ({ key: 'named', value: `v${index}` }));
    const text = question(callOf({ ...input, tags }, { named: [...Object.keys(input), 'tags[].key'] }));
    expect(text?.text).toMatch(/tags\[\]\.value "v0", .*, "v10"\.$/);
    expect(text?.text).not.toContain('named');
  });

  test('has long values, long names and long map keys whole', () => {
    const description = 'x'.repeat(700);
    const name = 'n'.repeat(400);
    const labels = { [`${'k'.repeat(150)} `]: 'v' };
    const headline = () => say`Create server ${name}`;
    const text = question(callOf({ description, name, labels }, { headline, named: ['name'] }))?.text;
    for (const whole of [
      `description "${description}"`,
      `In full: Create server "${name}".`,
      `"${'k'.repeat(150)} " "v"`,
    ])
      expect(text).toContain(whole);
    expect(text).not.toContain('(cut');
  });

  test.each([
    [5, 6],
    [7, 6],
    [20, 6],
  ])('with %i warnings it has %i lines below the decision, with all warnings in them', (count, lines) => {
    const warnings = Array.from({ length: count }, (_, index) => say`Warning ${index}.`);
    const call = callOf(input, {
      headline: () => say`Create it`,
      consequences: () => [say`It costs money.`, say`More.`],
      named: Object.keys(input),
      warnings: () => warnings,
    });
    const text = question(call)?.text ?? '';
    expect(text.split('\n').length - decisionLines).toBe(Math.min(lines, count + 1));
    for (const warning of warnings) expect(text.split(warning.text)).toHaveLength(2);
    if (count > 5) expect(text.split('\n').at(-1)).toBe(warnings.slice(4).join(' '));
  });

  test('is not asked if it would be longer than 2,000 characters', () => {
    const at = (length: number) => question(callOf(input, { warnings: () => [defined('x'.repeat(length))] }));
    const shortest = at(0)?.text.length ?? 0;
    expect(at(2000 - shortest)?.text).toHaveLength(2000);
    expect(at(2001 - shortest)).toBeUndefined();
  });

  const x = (length: number) => 'x'.repeat(length);

  test('says in full what its first line lacks', () => {
    const headline = () => say`Create ${x(10)} of ${'y'.repeat(40)} in ${'zzzzzz'} (400 GB), in brief`;
    const shortHeadline = () => say`Create ${x(10)} of ${'y'.repeat(40)} (400 GB)`;
    const [first, ...below] = question(callOf(input, { headline, shortHeadline }))?.text.split('\n') ?? [];
    expect(first).toBe(`Create "${x(10)}" of "${'y'.repeat(31)}…" (400 GB)?`);
    expect(below).toContain(`In full: ${headline().text}.`);
    const short = question(callOf(input, { headline: () => say`Create ${x(32)}` }));
    expect(short?.text).not.toContain('In full');
  });

  test.each([
    ['whole if it fits', x(69), 'short', x(69)],
    ['or else the short one', `Create ${x(63)}`, 'Create it', 'Create it'],
    ['or else the short one, cut', x(90), x(70), `${x(68)}…`],
  ])('has in its first line the headline %s', (_what, whole, short, first) => {
    const call = callOf(input, { headline: () => defined(whole), shortHeadline: () => defined(short) });
    expect(question(call)?.text.split('\n')[0]).toBe(`${first}?`);
  });

  test.each([
    [
      'all of it, with the sources',
      'AKIDTEST-1234',
      { availabilityZone: 'east-11' },
      'Region jp-east-1 (given), zone east-11 (given)',
    ],
    ['all of it', 'AKIDTEST-12345', { availabilityZone: 'east-11' }, 'Region jp-east-1, zone east-11'],
    [
      'all that fits',
      'production-of-tenant-2',
      { availabilityZone: 'some zone 1a' },
      'Region jp-east-1, zone "some zone 1a"',
    ],
    ['no part of a zone', 'production-of-tenant-22', { availabilityZone: 'some zone 1a' }, 'Region jp-east-1'],
    ['both regions', 'AKIDTEST', { region: 'jp-west-2' }, 'Region jp-west-2, request sent to jp-east-1'],
    ['one of two regions', 'production-of-tenant', { region: 'jp-west-2' }, 'Region jp-west-2'],
    ['32 characters of a region', 'AKIDTEST', { region: x(33) }, `Region "${x(31)}…"`],
  ])('has in its third line the account, and of the place %s', (_what, keyId, given, where) => {
    const call = callOf({ ...input, region: 'jp-east-1', ...given });
    const [, , thirdLine, ...below] = question({ ...call, keyId })?.text.split('\n') ?? [];
    expect(thirdLine).toBe(`${where}, account ${keyId}.`);
    // The sources of the values are in one of the lines.
    expect(below.filter((line) => line.startsWith('Where: ')).length).toBe(where.includes('(given)') ? 0 : 1);
  });

  test.each([
    ['2026-11-20T11:59:36.123Z', '24 s ago'],
    ['2026-11-20T12:00:00.000Z', 'now'],
    ['2026-11-20T12:05:00.000Z', '5 min from now'],
    ['2026-11-18T12:00:00.000Z', '2 days 0 h ago'],
  ])('has the time %s as "%s"', (iso, told) => {
    const call = callOf(input, { headline: () => say`Create it`, warnings: () => [say`Started ${time(iso)}.`] });
    const text = question({ ...call, alert: say`Last part ${time(iso)}.` })?.text;
    expect(text?.split('\n')[1]).toBe(`Last part ${told}. It costs money.`);
    expect(text).toContain(`Started ${told}.`);
    expect(text).not.toMatch(/\d\d:\d\d/);
  });

  test.each([
    [9, true],
    [100, true],
    [115, false],
    [1000, false],
  ])('of %i objects has all entries, or is not asked: %s', (count, isAsked) => {
    const keys = Array.from({ length: count }, (_, index) => `logs/2026/${index}`);
    const objects = keys.map((Key) => ({ Key }));
    const call = callOf({ Delete: { Objects: objects } }, { headline: () => say`Delete objects`, named: [] });
    const text = question(call)?.text;
    const list = keys.map((key) => `"${key}"`).join(', ');
    expect(text === undefined).toBe(!isAsked);
    if (isAsked) expect(text).toContain(`Also: Delete.Objects[].Key ${list}.`);
  });

  test('has each value of each argument, whatever its shape', () => {
    const leaf = fc.oneof(fc.string({ maxLength: 200 }), fc.integer(), fc.boolean(), fc.constant(null));
    const objects = fc.object({ maxDepth: 3, values: [leaf], withNullPrototype: false });
    const unlimited = { ...questionLimits, characters: Number.POSITIVE_INFINITY };
    fc.assert(
      fc.property(objects, (given) => {
        const call = callOf(input, { headline: () => say`Change it`, named: [] });
        const withGiven = { ...call, input: given, shownInput: given };
        const text = questionText(makePlan(withGiven), withGiven, unlimited, now)?.text ?? '';
        for (const [, value] of [...leavesOf(given)].filter(([path]) => path !== ''))
          expect(text).toContain(typeof value === 'string' ? quote(value, 200) : JSON.stringify(value));
      }),
      { numRuns: runs(300) },
    );
  });

  test('shows what is invisible', () => {
    const text = question(
      callOf({ ...input, description: 'a\u202eb\nc' }, { headline: () => say`Create ${'\u202e'}` }),
    );
    expect(text?.text).not.toMatch(/\u202e/);
    expect(text?.text.split('\n')[0]).toContain('\\u202e');
  });
});

describe('the plan', () => {
  const longSecret = 'MARKER-of-a-long-key';
  const secretCall = (): ResolvedChange => {
    const operation = provisionKubeResourceGroup as Operation;
    if (operation.change === undefined) throw new Error('it is a change');
    const given = { resourceGroupName: 'g', externalCloudConfig: { serviceAccountKey: longSecret } };
    const shownInput = withoutSecrets({ operation, input: given }, given);
    return {
      ...callOf({}),
      operation,
      change: operation.change,
      input: given,
      args: given,
      shownInput,
      request: encodeRequest('POST', requestOf(operation, given), endpoint),
      shownRequest: encodeRequest('POST', requestOf(operation, shownInput), endpoint),
      endpoint,
      keyId,
      regionSource: 'default',
    };
  };

  test('has a fingerprint in place of a secret, in the request and in the question', () => {
    const call = secretCall();
    const plan = makePlan(call);
    expect(JSON.stringify(plan)).toContain(fingerprint(longSecret));
    expect(
      JSON.stringify([
        plan,
        planText(plan, undefined),
        requestLines(plan),
        questionText(plan, call, questionLimits, now),
      ]),
    ).not.toContain('MARKER');
    expect(fingerprint(longSecret)).toMatch(/^hidden secret \(SHA-256 [0-9a-f]{8}\)$/);
    expect(fingerprint(longSecret)).not.toBe(fingerprint(`${longSecret}z`));
    expect(fingerprint(longSecret).length).toBeLessThanOrEqual(longestName);
  });

  test('has no fingerprint of a secret of fewer than 16 characters, which could be guessed', () => {
    expect(fingerprint('x'.repeat(16))).toContain('SHA-256');
    expect(fingerprint('x'.repeat(15))).toBe('hidden secret');
  });

  test('tells the person every argument that its other sentences leave out', () => {
    const others = {
      dryRun: false,
      network: { id: 'n', zone: 'z' },
      tags: ['only'],
      keys: ['a', 'b'],
      pools: [{ name: 'p', size: 2 }],
      parts: Array.from({ length: 6 }, (_, index) => ({ eTag: `e${index}` })),
    };
    const call = callOf({ ...input, ...others }, { named: ['backupId', 'instanceId'] });
    const lines = planText(makePlan(call), undefined).text.split('\n');
    expect(lines).toContain('Also: dryRun false, tags "only", network (id "n", zone "z").');
    expect(lines.slice(lines.indexOf('Lists:'))).toEqual([
      'Lists:',
      '- keys "a", "b"',
      '- pools[0] (name "p", size 2)',
      '- parts[].eTag "e0", "e1", "e2", "e3", "e4", "e5"',
    ]);
  });

  test('as text says how many entries of a list it leaves out, and the request has all', () => {
    const keys = Array.from({ length: 60 }, (_, index) => `${'k'.repeat(96)}${index + 100}`);
    const pools = [{ name: 'p'.repeat(1001), size: 1 }, { name: 'q' }, { name: 'r' }];
    const request = requestFor({ body: json({ keys, pools }) });
    const plan = makePlan({ ...callOf({ keys, pools }, { named: [] }), shownRequest: request });
    const shown = planText(plan, undefined).text.split('\n');
    expect(shown.slice(shown.indexOf('Lists:') + 1)).toEqual([
      `- keys ${keys
        .slice(0, 9)
        .map((key) => `"${key}"`)
        .join(', ')}`,
      '- keys: 51 of 60 entries are only in the request',
      '- pools: 3 of 3 entries are only in the request',
    ]);
    const lines = requestLines(plan).join('\n');
    for (const key of keys) expect(lines).toContain(`"${key}"`);
    expect(plan.body).toEqual({ keys, pools });
  });

  test('says of a deletion once that it cannot be undone', () => {
    const consequences = () => [say`This cannot be undone.`, say`It is gone.`];
    const call = callOf(input, { consequences, costsMoney: false }, { effect: 'delete' });
    expect(makePlan(call).risks).toEqual(['no way back']);
    for (const text of [question(call)?.text, planText(makePlan(call), undefined).text])
      expect(text?.match(/cannot be undone|no way back|destructive/gi)).toEqual(['cannot be undone']);
  });

  test('says where the zone comes from, if there is one', () => {
    const defaults = [
      { path: 'availabilityZone', value: 'east-11', inRegion: { 'jp-east-1': 'east-11', 'jp-west-1': 'west-12' } },
    ];
    const zone = (given: object, region = 'jp-east-1') => {
      const call = callOf({ ...input, ...given }, {}, { defaults });
      return placesOf(makePlan({ ...call, endpoint: { ...endpoint, region } })).filter((each) =>
        each.text.startsWith('zone'),
      );
    };
    expect(zone({})).toEqual(["zone east-11 (the cloud's default)"]);
    expect(zone({}, 'jp-west-1')).toEqual(["zone west-12 (the cloud's default)"]);
    expect(zone({ availabilityZone: 'east-13' })).toEqual(['zone east-13 (given)']);
    expect(placesOf(makePlan(callOf(input))).filter((each) => each.text.startsWith('zone'))).toEqual([]);
  });

  test.each([
    [39_998, true],
    [39_999, false],
  ])('with a request of %i characters and two quotation marks can be shown: %s', (length, shown) => {
    expect(canBeShown({ ...makePlan(callOf(input)), body: 'x'.repeat(length) })).toBe(shown);
  });

  test('quotes a region or a zone that could be any words', () => {
    const call = callOf({ ...input, region: 'here. Nothing is created', availabilityZone: 'a b' });
    expect(placesOf(makePlan(call)).slice(0, 3)).toEqual([
      'region "here. Nothing is created" (given)',
      'request sent to jp-east-1 (given)',
      'zone "a b" (given)',
    ]);
  });

  test.each([
    [{}, 'region jp-east-1 (configured)'],
    [{ region: 'jp-east-1' }, 'region jp-east-1 (given)'],
    [{ region: 7 }, 'region jp-east-1 (configured)'],
    [{ regions: ['jp-west-2', 'x'] }, 'region jp-west-2 (given), request sent to jp-east-1 (configured)'],
  ])('says where the region comes from, and which one gets the request: %j', (given, region) => {
    const call = callOf(input);
    const plan = makePlan({ ...call, input: { ...input, ...given }, regionSource: 'configured' });
    expect(placesOf(plan).slice(0, -1).join(', ')).toBe(region);
  });
});
