import { describe, expect, test } from 'vitest';
import { listParts } from '../../src/tools/list-parts.js';
import { upgradeKubeVersion } from '../../src/tools/upgrade-kube-version.js';
import { problems, withValue } from '../support/rules.js';

/** Rules of ListParts and UpgradeKubeVersion. Names in a path may not leave their place; keys may be anything that has an encoding. */

const pathNames = {
  accepts: ['a', 'My Bucket!', 'a.b', '...', '%2f', '%2e%2e', 'ü'],
  refuses: [undefined, '', '.', '..', 'a/b', '../x', 'a\\b', 'a\nb', '\u0000', '\ud800x', 1],
};

const rules = [
  { operation: listParts, path: 'bucket', ...pathNames },
  {
    operation: listParts,
    path: 'object',
    accepts: ['a', '.', '..', '../x', '/', '//', ' ', '\n', '\u0001', '😀', 'a?b#c%zz'],
    refuses: [undefined, '', '\ud83d', 1],
  },
  { operation: listParts, path: 'uploadId', accepts: ['x', '2~/+= '], refuses: [undefined, '', 5, '\ud800'] },
  {
    operation: listParts,
    path: 'maxParts',
    accepts: [1, 1000, 5000, '1'],
    refuses: [0, -1, 1.5, '0', 'x', '', 2 ** 53],
  },
  { operation: listParts, path: 'partNumberMarker', accepts: [0, 10_001, '0'], refuses: [-1, 0.5, 'x', ''] },
  { operation: listParts, path: 'encodingType', accepts: ['url', 'anything'], refuses: ['', 1] },
  { operation: listParts, path: 'region', accepts: ['jp-west-2'], refuses: ['', 'a.b', 'a@b', 'x/'] },
  { operation: upgradeKubeVersion, path: 'resourceGroupName', ...pathNames },
  { operation: upgradeKubeVersion, path: 'clusterName', ...pathNames },
  { operation: upgradeKubeVersion, path: 'version', accepts: ['1.34', 'v1.34.2-x'], refuses: [undefined, '', 1.34] },
];

const valid: Record<string, object> = {
  list_parts: { bucket: 'b', object: 'o', uploadId: 'u' },
  upgrade_kube_version: { resourceGroupName: 'g', clusterName: 'c', version: '1' },
};

describe.each(rules)('$operation.name $path', ({ operation, path, accepts, refuses }) => {
  const base = valid[operation.name] ?? {};
  test.each(accepts.map((value) => [value]))('accepts %j', (value) => {
    expect(problems(operation, withValue(base, path, value))).toEqual([]);
  });
  test.each(refuses.map((value) => [value]))('refuses %j', (value) => {
    const lines = problems(operation, withValue(base, path, value));
    expect(lines.length).toBeGreaterThan(0);
    for (const line of lines) expect(line.startsWith(`${path}: `), line).toBe(true);
  });
});
