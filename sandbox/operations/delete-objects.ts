import { type ApiRequest, ServiceError } from '../http.js';
import { defineOperation } from '../operation.js';
import { checksumHeaders } from '../storage/checksums.js';
import { notOffered } from '../storage/requests.js';
import { isDocumentOf, textOf, textsOf, xmlAnswer } from '../storage/xml.js';

const maximumKeys = 1000;

/** Elements that name one version of an object, or a condition for its deletion. The sandbox refuses both. */
const conditions = ['VersionId', 'ETag', 'LastModifiedTime', 'Size'];

/** Deletes up to 1,000 objects of a bucket. As on S3, objects that do not exist are answered as deleted. */
export const deleteObjects = defineOperation({
  request: 'POST /{bucket}?delete',
  async handle({ parameters: { bucket }, headers, body }, { storage }) {
    storage.findBucket(bucket);
    if (!isChecked(headers))
      throw new ServiceError(400, 'InvalidRequest', 'The header content-md5 or a checksum is missing.');
    const { keys, isQuiet } = readDeletion(body.toString('utf8'));
    const removed = keys.flatMap((key) => storage.deleteObject({ bucket, key }));
    await storage.files.remove(removed);
    return xmlAnswer('DeleteResult', { Deleted: isQuiet ? [] : keys.map((Key) => ({ Key })) });
  },
});

/** True if the client sent a digest or checksum of the body, which S3 requires here besides the signature. */
const isChecked = (headers: ApiRequest['headers']) =>
  ['content-md5', 'x-amz-trailer', ...checksumHeaders].some((name) => name in headers);

/** Parses the list of keys to delete. Throws a `ServiceError` unless it has 1 to 1,000 keys and only elements that the sandbox offers. */
function readDeletion(document: string): { readonly keys: readonly string[]; readonly isQuiet: boolean } {
  const malformed = new ServiceError(400, 'MalformedXML', `The body must name 1 to ${maximumKeys} keys of objects.`);
  if (!isDocumentOf(document, 'Delete', ['Quiet', 'Object', 'Key', ...conditions])) throw malformed;
  const condition = conditions.find((name) => new RegExp(`<${name}[\\s/>]`).test(document));
  if (condition !== undefined) throw notOffered(`${condition} of an object to delete`);
  const objects = [...document.matchAll(/<Object>([\s\S]*?)<\/Object>/g)].map(([, object = '']) => object);
  const keys = objects.map((object) => onlyOne(textsOf(object, 'Key')) ?? '');
  const isWhole = !keys.includes('') && keys.length === textsOf(document, 'Key').length;
  if (!isWhole || keys.length === 0 || keys.length > maximumKeys) throw malformed;
  return { keys, isQuiet: textOf(document, 'Quiet') === 'true' };
}

const onlyOne = (texts: readonly string[]) => (texts.length === 1 ? texts[0] : undefined);
