import { showInstance } from '../devops.js';
import { json } from '../http.js';
import { defineOperation } from '../operation.js';

export const listInstances = defineOperation({
  service: 'devops',
  request: 'GET /v1/instances',
  source: 'sandbox',
  handle: (_, cloud) =>
    json(200, { instances: [...cloud.instances.values()].map((instance) => showInstance(cloud, instance)) }),
});
