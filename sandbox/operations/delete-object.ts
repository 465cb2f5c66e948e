import { empty } from '../http.js';
import { defineOperation } from '../operation.js';
import { objectName } from '../storage/contents.js';

/** An object that is not there is as good as deleted. */
export const deleteObject = defineOperation({
  name: 'delete_object',
  request: 'DELETE /{bucket}/{key}',
  source: 's3',
  answers: 'nothing',
  async handle({ parameters }, { storage }) {
    storage.checkBucket(parameters.bucket);
    if (storage.contents.objects.has(objectName(parameters))) await storage.commit({ op: 'delete', ...parameters });
    return empty({}, 204);
  },
});
