import { encodeSegment } from '../../util/uri.js';
import { bucketRegion, objectKey, pathName, text } from '../schema/fields.js';

/** This file has arguments, path and error texts of the operations on one multipart upload. */

export const uploadArguments = () => ({
  bucket: pathName().describe('Bucket name.'),
  object: objectKey().describe('Object key, exactly as the upload was started with; not URL-encoded.'),
  uploadId: text().describe('Upload ID, from list_multipart_uploads or the log of the uploader.'),
  region: bucketRegion(),
});

export const objectPath = ({ bucket, object }: { readonly bucket: string; readonly object: string }): string =>
  `/${[bucket, ...object.split('/')].map(encodeSegment).join('/')}`;

/** For an unknown upload, Ceph answers NoSuchKey instead of NoSuchUpload. */
export const goneCodes: readonly string[] = ['NoSuchUpload', 'NoSuchKey'];

const gone =
  'The upload was completed or aborted, or bucket, object or uploadId is mistyped. If it was completed, the object exists';

export const goneErrors = Object.fromEntries(
  goneCodes.map((code) => [code, { agent: `${gone}: ask the user which it is.`, person: `${gone}.` }]),
);
