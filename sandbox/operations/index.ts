/** All operations of the sandbox. An operation that is exported here has a route, and appears in faults, tests and docs/SANDBOX.md. */

export { getBucketLifecycle, putBucketLifecycle } from './bucket-lifecycle.js';
export { createBucket, getBucketLocation, headBucket, listBuckets } from './buckets.js';
export { completeMultipartUpload } from './complete-multipart-upload.js';
export { deleteObjects } from './delete-objects.js';
export { listObjects, listObjectsV2 } from './list-objects.js';
export { listMultipartUploads, listParts } from './listings.js';
export { deleteObject, getObject, headObject, putObject } from './objects.js';
export { provisionKubeResourceGroup } from './provision-kube-resource-group.js';
export { getResourceGroup, listInstances, listResourceGroups } from './reads.js';
export { restoreInstance } from './restore-instance.js';
export { upgradeKubeVersion } from './upgrade-kube-version.js';
export { abortMultipartUpload, createMultipartUpload, uploadPart } from './uploads.js';
