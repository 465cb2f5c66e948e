import { defineOperation, invented } from '../operation.js';
import { describeObject, readHeaders } from '../storage/objects.js';

export const getObject = defineOperation({
  request: 'GET /{bucket}/{key}',
  headers: readHeaders,
  answersBytes: true,
  handle(request, { storage }) {
    const object = storage.findObject(request.parameters);
    const { answer, first, last } = describeObject(object, request);
    const response = { ...answer, content: storage.files.read(object.parts, first, last) };
    return object.parts.some(({ file }) => file === undefined) ? invented(response, 'content') : response;
  },
});
