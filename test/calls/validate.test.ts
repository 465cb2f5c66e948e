import { expect, test } from 'vitest';
import { provisionKubeResourceGroup } from '../../src/tools/provision-kube-resource-group.js';
import { restoreInstance } from '../../src/tools/restore-instance.js';
import { problems } from '../support/rules.js';

test('a value outside a long list is answered with the nearest ones', () => {
  const args = { resourceGroupName: 'g', adminCluster: { controlPlane: { instanceType: 'h2-large20' } } };
  expect(problems(provisionKubeResourceGroup, args)).toEqual([
    'adminCluster.controlPlane.instanceType: "h2-large20" is not offered; nearest: h2-large16, h2-large24, h2-large32',
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
