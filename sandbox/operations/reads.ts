import { findGroup, showGroup } from '../catalog.js';
import { showInstance } from '../devops.js';
import { jsonAnswer } from '../http.js';
import { defineOperation } from '../operation.js';

/** This file has operations that list groups and servers. docs/API.md has none, so these are the sandbox's own. */

export const listResourceGroups = defineOperation({
  service: 'catalog',
  request: 'GET /v1/resource-groups',
  source: 'sandbox',
  handle: (_, cloud) => jsonAnswer(200, { groups: [...cloud.groups.values()].map((group) => showGroup(cloud, group)) }),
});

export const getResourceGroup = defineOperation({
  service: 'catalog',
  request: 'GET /v1/resource-groups/{resourceGroupName}',
  source: 'sandbox',
  handle: ({ parameters }, cloud) => jsonAnswer(200, showGroup(cloud, findGroup(cloud, parameters.resourceGroupName))),
});

export const listInstances = defineOperation({
  service: 'devops',
  request: 'GET /v1/instances',
  source: 'sandbox',
  handle: (_, cloud) =>
    jsonAnswer(200, { instances: [...cloud.instances.values()].map((instance) => showInstance(cloud, instance)) }),
});
