import { findGroup, showGroup } from '../catalog.js';
import { json } from '../http.js';
import { defineOperation } from '../operation.js';

export const getResourceGroup = defineOperation({
  service: 'catalog',
  request: 'GET /v1/resource-groups/{resourceGroupName}',
  source: 'sandbox',
  handle: ({ parameters }, cloud) => json(200, showGroup(cloud, findGroup(cloud, parameters.resourceGroupName))),
});
