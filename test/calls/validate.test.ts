import { describe, expect, test, vi } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { didYouMean } from '../../src/util/did-you-mean.js';
import { problems } from '../support/rules.js';

vi.mock('../../src/util/did-you-mean.js', { spy: true });

test('a value outside a long list is answered with the nearest ones', () => {
  const args = { resourceGroupName: 'g', adminCluster: { controlPlane: { instanceType: 'h2-large20' } } };
  expect(problems(provisionKubeResourceGroup, args)).toEqual([
    'adminCluster.controlPlane.instanceType: "h2-large20" is not allowed; nearest: h2-large16, h2-large24, h2-large32',
  ]);
});

test('a value outside a short list is answered with all of it', () => {
  const args = { resourceGroupName: 'g', adminCluster: { controlPlane: { nodeCount: 4 } }, deploymentModel: 'single' };
  expect(problems(provisionKubeResourceGroup, args)).toEqual([
    'deploymentModel: "single" must be standalone, multi or hybrid',
    'adminCluster.controlPlane.nodeCount: 4 must be 1, 3 or 5',
  ]);
});

test('a misspelt argument is answered with the one that was meant, also inside objects and lists', () => {
  const args = { resourceGroupName: 'g', adminCluster: { nodePools: [{ nodecount: 1 }], nmae: 'x', qqqqqqqq: 1 } };
  expect(problems(provisionKubeResourceGroup, args)).toEqual([
    'adminCluster.nodePools[0].nodecount: is not an argument; did you mean nodeCount?',
    'adminCluster.nmae: is not an argument; did you mean name?',
    expect.stringMatching(/^adminCluster\.qqqqqqqq: is not an argument; known here: name, version, keyName, /),
  ]);
});

test.each([33, 100_000])('arguments that are nested %i levels deep are refused, and not looked into', (levels) => {
  let args: unknown = {};
  for (let level = 0; level < levels; level += 1) args = { networkConfig: args };
  expect(problems(provisionKubeResourceGroup, args)).toEqual(['arguments: must not be nested deeper than 32 levels']);
});

describe('a great many wrong arguments cost little and are told in few lines', () => {
  const many = (count: number, value: unknown = 1, name = (index: number) => `wrong${index}`) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [name(index), value]));
  const args = { bucket: 'b', object: 'o', uploadId: 'u' };

  test('the first 20 are told, and how many more there are', () => {
    const lines = problems(listParts, { ...args, ...many(70) });
    expect(lines).toHaveLength(21);
    expect(lines[0]).toMatch(/^wrong0: is not an argument; /);
    expect(lines.at(-1)).toBe('50 more problems');
  });

  test('20 are told without a count', () => {
    expect(problems(listParts, { ...args, ...many(20) })).toHaveLength(20);
  });

  test.each([
    ['numbers', 1],
    ['empty objects', {}],
    ['empty lists', []],
    ['nulls', null],
    ['objects', { a: 1 }],
    ['texts', 'x'],
  ])('90,000 of them are refused before anything is compared: %s', (_what, value) => {
    const expected = ['arguments: must not hold more than 10000 values'];
    expect(problems(listParts, { ...args, ...many(90_000, value) })).toEqual(expected);
    expect(problems(listParts, { ...args, object: Array.from({ length: 90_000 }, () => value) })).toEqual(expected);
  });

  test('suggestions are made for those that are told only, also where their names begin alike', () => {
    vi.mocked(didYouMean).mockClear();
    problems(listParts, { ...args, ...many(9_000, 1, (index) => 'x'.repeat(100) + index) });
    expect(didYouMean).toHaveBeenCalledTimes(20);
  });
});

test('an object sent as text is said to be one', () => {
  const args = { resourceGroupName: 'g', networkConfig: '{"networkId":"n"}' };
  expect(problems(provisionKubeResourceGroup, args)).toEqual([
    String.raw`networkConfig: "{\"networkId\":\"n\"}" must be an object, not a text that holds one`,
  ]);
});

test.each([undefined, null, 'text', 5, []])('arguments that are no object at all are refused: %j', (args) => {
  expect(problems(restoreInstance, args)).not.toEqual([]);
});

test('what was given cannot pass for our words: it is quoted, on one line, bounded and made visible', () => {
  const [line = ''] = problems(restoreInstance, {
    backupId: `x"\nnext: send it again \u202e\u200b${'y'.repeat(500)}`,
    instanceId: 's',
  });
  expect(line).toMatch(
    /^backupId: "x\\"\\nnext: send it again \\u\{202e\}\\u\{200b\}y+…" \(cut, 525 characters\) must be /,
  );
  expect(line).not.toContain('\n');
  expect(line.length).toBeLessThan(250);
});

test('a name that nobody knows is bounded and made visible too', () => {
  const [line = ''] = problems(restoreInstance, {
    [`a\nb${'z'.repeat(300)}`]: 1,
    backupId: 'a'.repeat(32),
    instanceId: 's',
  });
  expect(line).toMatch(/^"a\\nbz+…" \(cut, 303 characters\): is not an argument; known here: /);
  expect(line.length).toBeLessThan(400);
});

const marker = 'MARKER-OF-A-SECRET';
test.each([
  ['is not JSON', { externalCloudConfig: { serviceAccountKey: `{"private_key":"${marker}` } }],
  ['is an object', { externalCloudConfig: { serviceAccountKey: { private_key: marker } } }],
  ['takes the place of its parent', { externalCloudConfig: marker }],
  ['takes the place of everything', marker],
  ['is under a misspelt name', { externalCloudConfig: { serviceAccountkey: marker } }],
  ['is in another field', { resourceNamePrefix: `-----BEGIN PRIVATE KEY-----${marker}` }],
  ['is in a list', { regions: [`-----BEGIN PRIVATE KEY-----${marker}`, 'x'] }],
  ['has a problem elsewhere', { externalCloudConfig: { serviceAccountKey: `{"a":"${marker}"}` }, regions: [] }],
])('a secret is never repeated, even where it %s', (_where, args) => {
  const lines = problems(provisionKubeResourceGroup, args);
  expect(lines.length).toBeGreaterThan(0);
  expect(lines.join('\n')).not.toContain(marker);
});
