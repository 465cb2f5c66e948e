import { defineOperation } from '../operation.js';
import { checksumElements, encodingOf, pageSize, people } from '../storage/listing.js';
import { notOffered } from '../storage/requests.js';
import { element, xml } from '../storage/xml.js';

export const listMultipartUploads = defineOperation({
  name: 'list_multipart_uploads',
  request: 'GET /{bucket}?uploads',
  options: ['delimiter', 'encoding-type', 'key-marker', 'max-uploads', 'prefix', 'upload-id-marker'],
  source: 's3',
  handle({ parameters: { bucket }, query }, { storage }) {
    storage.checkBucket(bucket);
    const given = (name: string) => query.get(name) ?? '';
    if (given('delimiter') !== '') throw notOffered('groups of keys');
    const [keyMarker, idMarker, prefix] = [given('key-marker'), given('upload-id-marker'), given('prefix')];
    const maximum = pageSize(query, 'max-uploads');
    const { encode, encodingElements } = encodingOf(query);
    const after = [...storage.contents.uploads.values()]
      .filter((upload) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .filter(({ key, uploadId }) => {
        const isSameKey = key === keyMarker && idMarker !== '';
        return byBytes(key, keyMarker) > 0 || (isSameKey && uploadId > idMarker);
      })
      .sort((a, b) => byBytes(a.key, b.key) || byBytes(a.uploadId, b.uploadId));
    const page = after.slice(0, maximum);
    const isTruncated = after.length > page.length;
    const last = page.at(-1);
    return xml('ListMultipartUploadsResult', [
      element('Bucket', bucket),
      element('KeyMarker', encode(keyMarker)),
      element('UploadIdMarker', idMarker),
      ...(isTruncated && last !== undefined
        ? [element('NextKeyMarker', encode(last.key)), element('NextUploadIdMarker', last.uploadId)]
        : []),
      element('Prefix', encode(prefix)),
      ...encodingElements,
      element('MaxUploads', maximum),
      element('IsTruncated', isTruncated),
      ...page.map(
        (upload) =>
          `<Upload>${element('Key', encode(upload.key))}${element('UploadId', upload.uploadId)}${people.join('')}` +
          `${element('Initiated', upload.initiated)}${checksumElements(upload).join('')}</Upload>`,
      ),
    ]);
  },
});

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
