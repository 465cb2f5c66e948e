import { abortMultipartUpload } from './abort-multipart-upload.js';
import { abortMultipartUploads } from './abort-multipart-uploads.js';
import type { DefinedOperation } from './define-operation.js';
import { listMultipartUploads } from './list-multipart-uploads.js';
import { listParts } from './list-parts.js';
import { provisionKubeResourceGroup } from './provision-kube-resource-group.js';
import { restoreInstance } from './restore-instance.js';
import { upgradeKubeVersion } from './upgrade-kube-version.js';

/** All built-in operations, in the order of the list of tools. */
export const operations: readonly DefinedOperation[] = [
  listParts,
  listMultipartUploads,
  abortMultipartUpload,
  abortMultipartUploads,
  provisionKubeResourceGroup,
  upgradeKubeVersion,
  restoreInstance,
];
