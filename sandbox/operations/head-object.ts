import { defineOperation } from '../operation.js';
import { describeObject, readHeaders } from '../storage/objects.js';

export const headObject = defineOperation({
  request: 'HEAD /{bucket}/{key}',
  headers: readHeaders,
  handle: (request, { storage }) => describeObject(storage.findObject(request.parameters), request).answer,
});
