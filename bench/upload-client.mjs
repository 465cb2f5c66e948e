// Uploads a file with a library for Node: upload-client.mjs lib-storage|minio-js FILE BUCKET KEY CONNECTIONS PART_BYTES
import { createReadStream } from 'node:fs';
import { S3Client } from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import * as minio from 'minio';

const [library, file, bucket, key, connections, partBytes] = process.argv.slice(2);
const endpoint = new URL(process.env.AWS_ENDPOINT_URL_S3);
const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey, AWS_REGION: region } = process.env;

const uploaders = {
  'lib-storage': () => {
    const client = new S3Client({
      endpoint: endpoint.href,
      region,
      credentials: { accessKeyId, secretAccessKey },
      forcePathStyle: true,
    });
    const params = { Bucket: bucket, Key: key, Body: createReadStream(file) };
    return new Upload({ client, params, queueSize: Number(connections), partSize: Number(partBytes) }).done();
  },
  'minio-js': () => {
    const client = new minio.Client({
      endPoint: endpoint.hostname,
      port: Number(endpoint.port),
      useSSL: false,
      accessKey: accessKeyId,
      secretKey: secretAccessKey,
      region,
      partSize: Number(partBytes),
    });
    return client.fPutObject(bucket, key, file);
  },
};
await uploaders[library]();
