/**
 * Every operation of the sandbox, as its tool is named, or would be: faults and the log of requests name it so.
 * Routing, faults, marks, tests and docs/SANDBOX.md follow from what is exported here.
 */
export { abortMultipartUpload as abort_multipart_upload } from './abort-multipart-upload.js';
export { completeMultipartUpload as complete_multipart_upload } from './complete-multipart-upload.js';
export { createBucket as create_bucket } from './create-bucket.js';
export { createMultipartUpload as create_multipart_upload } from './create-multipart-upload.js';
export { deleteObject as delete_object } from './delete-object.js';
export { getBucketLocation as get_bucket_location } from './get-bucket-location.js';
export { getObject as get_object } from './get-object.js';
export { getResourceGroup as get_resource_group } from './get-resource-group.js';
export { headBucket as head_bucket } from './head-bucket.js';
export { headObject as head_object } from './head-object.js';
export { listBuckets as list_buckets } from './list-buckets.js';
export { listInstances as list_instances } from './list-instances.js';
export { listMultipartUploads as list_multipart_uploads } from './list-multipart-uploads.js';
export { listParts as list_parts } from './list-parts.js';
export { listResourceGroups as list_resource_groups } from './list-resource-groups.js';
export { provisionKubeResourceGroup as provision_kube_resource_group } from './provision-kube-resource-group.js';
export { putObject as put_object } from './put-object.js';
export { restoreInstance as restore_instance } from './restore-instance.js';
export { upgradeKubeVersion as upgrade_kube_version } from './upgrade-kube-version.js';
export { uploadPart as upload_part } from './upload-part.js';
