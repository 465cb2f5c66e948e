import { showGroup } from '../catalog.js';
import { json } from '../http.js';
import { defineOperation } from '../operation.js';

export const listResourceGroups = defineOperation({
  service: 'catalog',
  request: 'GET /v1/resource-groups',
  source: 'sandbox',
  handle: (_, cloud) => json(200, { groups: [...cloud.groups.values()].map((group) => showGroup(cloud, group)) }),
});
