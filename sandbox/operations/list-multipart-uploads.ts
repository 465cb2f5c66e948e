import { defineOperation } from '../operation.js';
import { aboutUpload, keyEncoding, pageSize } from '../storage/listing.js';
import { notOffered } from '../storage/requests.js';
import { xml } from '../storage/xml.js';

export const listMultipartUploads = defineOperation({
  request: 'GET /{bucket}?uploads',
  options: ['delimiter', 'encoding-type', 'key-marker', 'max-uploads', 'prefix', 'upload-id-marker'],
  handle({ parameters: { bucket }, query }, { storage }) {
    storage.findBucket(bucket);
    const given = (name: string) => query.get(name) ?? '';
    if (given('delimiter') !== '') throw notOffered('groups of keys');
    const [keyMarker, idMarker, prefix] = [given('key-marker'), given('upload-id-marker'), given('prefix')];
    const maximum = pageSize(query, 'max-uploads');
    const { encode, type } = keyEncoding(query);
    const after = [...storage.uploads.values()]
      .filter((upload) => upload.bucket === bucket && upload.key.startsWith(prefix))
      .filter(({ key, uploadId }) => {
        const isSameKey = key === keyMarker && idMarker !== '';
        return byBytes(key, keyMarker) > 0 || (isSameKey && uploadId > idMarker);
      })
      .sort((a, b) => byBytes(a.key, b.key) || byBytes(a.uploadId, b.uploadId));
    const page = after.slice(0, maximum);
    const isTruncated = after.length > page.length;
    const last = page.at(-1);
    return xml('ListMultipartUploadsResult', {
      Bucket: bucket,
      KeyMarker: encode(keyMarker),
      UploadIdMarker: idMarker,
      ...(isTruncated && last && { NextKeyMarker: encode(last.key), NextUploadIdMarker: last.uploadId }),
      Prefix: encode(prefix),
      EncodingType: type,
      MaxUploads: maximum,
      IsTruncated: isTruncated,
      Upload: page.map((upload) => ({
        Key: encode(upload.key),
        UploadId: upload.uploadId,
        ...aboutUpload(upload),
        Initiated: upload.initiated,
      })),
    });
  },
});

const byBytes = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
