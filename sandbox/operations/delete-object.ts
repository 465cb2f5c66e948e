import { empty } from '../http.js';
import { defineOperation } from '../operation.js';
import { objectName } from '../storage/records.js';

/** An object that is not there is as good as deleted. */
export const deleteObject = defineOperation({
  request: 'DELETE /{bucket}/{key}',
  async handle({ parameters }, { storage }) {
    storage.findBucket(parameters.bucket);
    const object = storage.objects.get(objectName(parameters));
    storage.objects.delete(objectName(parameters));
    await storage.files.remove(object?.parts ?? []);
    return empty({}, 204);
  },
});
