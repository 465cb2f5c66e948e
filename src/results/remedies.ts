const uploadGone =
  'The upload was completed or aborted, or bucket, object or uploadId is mistyped. If it was completed, the object exists.';

/** What to do about an error, by the service's code. Codes are not in the reference; these were seen on services of the family. */
const byCode: Readonly<Record<string, string>> = {
  NoSuchUpload: uploadGone,
  // Ceph says so of an upload that it does not know.
  NoSuchKey: uploadGone,
  NoSuchBucket: 'Check the bucket name, the region, and that CLOUDOPS_STORAGE_URL is the endpoint that has the bucket.',
  InvalidBucketName: 'Check the bucket name.',
  SignatureDoesNotMatch:
    'Check CLOUDOPS_SECRET_ACCESS_KEY, the region and the signing service name (CLOUDOPS_…_SERVICE). ' +
    'With CLOUDOPS_LOG_LEVEL=debug the log shows what was signed.',
  InvalidAccessKeyId: 'Check CLOUDOPS_ACCESS_KEY_ID and that it belongs to this endpoint.',
  InvalidToken: 'CLOUDOPS_SESSION_TOKEN is wrong or expired.',
  ExpiredToken: 'CLOUDOPS_SESSION_TOKEN is expired.',
  RequestTimeTooSkewed:
    'The clocks of this machine and of the service differ by more than 15 minutes. Set this one right.',
  AccessDenied: 'The credentials are valid but may not do this. Ask for the permission; trying again will not help.',
  AuthorizationHeaderMalformed:
    'Check the region (CLOUDOPS_REGION or the argument) and the signing service name (CLOUDOPS_…_SERVICE).',
  NotImplemented: 'This endpoint does not offer the operation. Check the endpoint in the configuration.',
  SlowDown: 'The service is overloaded. Wait a minute, then try again.',
  ServiceUnavailable: 'The service is overloaded or down. Wait a minute, then try again.',
};

const byBeginning: readonly (readonly [string, string])[] = [
  [
    'Client.InvalidParameterNotFound',
    'Something that the arguments name does not exist in this region. Check the names and the region.',
  ],
  ['Client.InvalidParameterDuplicate', 'Something with this name exists already. Choose another name.'],
  ['Client.InvalidParameter', 'Check the arguments against the message.'],
  [
    'Client.AuthFailurePermission',
    'The credentials are valid but may not do this. Ask for the permission; trying again will not help.',
  ],
  [
    'Client.AuthFailure',
    'Check CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY, the region and the signing service name (CLOUDOPS_…_SERVICE).',
  ],
  ['Client.URLNotFound', 'Check the endpoint in the configuration; if it is right, check the names in the arguments.'],
];

const byStatus: Readonly<Record<number, string>> = {
  400: 'Check the arguments against the message.',
  401: 'Check CLOUDOPS_ACCESS_KEY_ID, CLOUDOPS_SECRET_ACCESS_KEY and the region.',
  403: 'Check the credentials, the region, and that they may do this.',
  404: 'Check the names in the arguments, the region, and the endpoint in the configuration.',
  409: 'It conflicts with the present state or with a name in use. Look in the console before trying again.',
  429: 'The service limits the rate of requests. Wait a minute, then try again.',
};

/** What the caller should do next, from the service's error code or, failing that, the HTTP status. */
export function remedy(code: string | undefined, status: number): string {
  const known = code === undefined ? undefined : Object.hasOwn(byCode, code) ? byCode[code] : undefined;
  const family = byBeginning.find(([beginning]) => code?.startsWith(beginning))?.[1];
  if (known !== undefined) return known;
  if (family !== undefined) return family;
  if (status >= 300 && status < 400)
    return 'The endpoint redirects, which a signed request must not follow. Set the endpoint to its final address.';
  return byStatus[status] ?? (status >= 500 ? 'The service failed. Try again in a minute.' : 'Check the arguments.');
}
