/** Operations whose names mislead about their effect, each with the reason. Names without a vendor's prefix. */

/** Named like reads, but they change something. */
export const changesNamedLikeReads: Readonly<Record<string, string>> = {
  GetActivityTask: 'takes a task out of a queue',
  GetId: 'creates an identity',
  GetOpenIdTokenForDeveloperIdentity: 'creates an identity',
  GetUserAttributeVerificationCode: 'sends a message',
  GetScalingConfigurationRecommendation: 'starts a calculation that is kept',
  GetClusterCredentials: 'can create a user of the database',
  GetClusterCredentialsWithIAM: 'creates a user of the database',
  GetCredentials: 'creates a user of the database',
  GetShippingLabel: 'orders a shipment',
  GetRegistrationCode: 'creates the code if there is none',
  GetWhatsAppMessageMedia: 'stores the file in a bucket',
  GetFlowLogsIntegrationTemplate: 'writes a file into a bucket',
  GetEventPrediction: 'stores the event',
  DownloadDefaultKeyPair: 'creates the key pair if there is none',
};

/** Named like changes, or like nothing known, but they only read or calculate. */
export const readsNamedLikeChanges: Readonly<Record<string, string>> = {
  AssumeRole: 'returns keys, and changes nothing',
  AssumeRoleWithSAML: 'returns keys, and changes nothing',
  AssumeRoleWithWebIdentity: 'returns keys, and changes nothing',
  Scan: 'returns items',
  ScanProvisionedProducts: 'lists products',
  Select: 'returns what a question selects',
  SelectObjectContent: 'returns what a question selects',
  SelectResourceConfig: 'returns what a question selects',
  SelectAggregateResourceConfig: 'returns what a question selects',
  FilterLogEvents: 'returns lines of logs',
  Decrypt: 'calculates',
  Encrypt: 'calculates',
  Verify: 'compares a signature',
  VerifyMac: 'compares a signature',
  DecodeAuthorizationMessage: 'decodes a text',
  TestDNSAnswer: 'answers as the name server would',
  TestEventPattern: 'compares texts',
  TestMetricFilter: 'compares texts',
  TestRenderTemplate: 'renders a text',
  TestRenderEmailTemplate: 'renders a text',
  ValidateTemplate: 'checks a text',
  ValidatePolicy: 'checks a text',
  ValidateResourcePolicy: 'checks a text',
  ValidatePipelineDefinition: 'checks a text',
  ValidateStateMachineDefinition: 'checks a text',
  ValidateConfiguration: 'checks a text',
  PreviewAgents: 'lists what a change would use',
  DiscoverInstances: 'looks up instances',
  DiscoverInputSchema: 'looks at samples',
  RetrieveEnvironmentInfo: 'returns what was collected',
  RetrieveDomainAuthCode: 'returns a code',
  DownloadDBLogFilePortion: 'returns a part of a file',
  DownloadSslCertificate: 'returns a file',
  ExportClientVpnClientConfiguration: 'returns a file',
  ExportClientVpnClientCertificateRevocationList: 'returns a file',
  ResolveAlias: 'looks up a name',
  ResolveRoom: 'looks up a name',
  Read: 'has only reads in it, as BatchRead',
  DomainMetadata: 'returns counts',
  IsVpcPeered: 'answers a question',
  IsMemberInGroups: 'answers a question',
  ViewBilling: 'lists bills',
  EvaluatePullRequestApprovalRules: 'compares rules',
};

/** Reads whose names do not say that they give out secrets. */
export const readsOfSecrets: Readonly<Record<string, string>> = {
  AssumeRole: 'keys',
  AssumeRoleWithSAML: 'keys',
  AssumeRoleWithWebIdentity: 'keys',
  Decrypt: 'the text',
  GetPasswordData: 'a password',
  GetParameter: 'a parameter may be a password',
  GetParameters: 'parameters may be passwords',
  GetParametersByPath: 'parameters may be passwords',
  GetParameterHistory: 'parameters may be passwords',
  GetFunction: 'a presigned address of the code',
  GetLayerVersion: 'a presigned address of the code',
  GetLayerVersionByArn: 'a presigned address of the code',
  GetCalculationExecutionCode: 'a presigned address of the code',
  GetComponentVersionArtifact: 'a presigned address',
  GetJobManifest: 'a presigned address',
  GetJobUnlockCode: 'a code that opens the device',
  GetSoftwareUpdates: 'a presigned address',
  GetDeployablePatchSnapshotForInstance: 'a presigned address',
  GetDatasetContent: 'presigned addresses',
  GetIceServerConfig: 'a password',
  GetInstanceAccess: 'keys',
  GetComputeAccess: 'keys',
  GetInstanceAccessDetails: 'keys',
  GetInvoicePDF: 'a presigned address',
  GetBuyerDashboard: 'an address that needs no signature',
  GetDashboardForJobRun: 'an address that needs no signature',
  GetTestExecutionArtifactsUrl: 'a presigned address',
  GetAgentTaskResponseUrl: 'a presigned address',
  GetArchiveMessage: 'a presigned address',
  GetDocumentContent: 'a presigned address',
  GetContent: 'a presigned address',
  GetAttachedFile: 'a presigned address',
  GetAttachment: 'a presigned address',
  GetUploadJobPath: 'a presigned address',
  GetTrustStoreCaCertificatesBundle: 'a presigned address',
  GetTrustStoreRevocationContent: 'a presigned address',
  GetJobDetails: 'keys',
  GetThirdPartyJobDetails: 'keys',
  GetDataAccess: 'keys',
  RetrieveDomainAuthCode: 'a code that transfers the domain',
  DownloadSslCertificate: 'a private key',
};

/** Names of other reads of secrets: keys, tokens, passwords, and addresses that need no signature. */
export const namesSecret =
  /(?:SecretValue|Credentials?|(?:Auth|Access|Session|Federation|Authorization|Identity|IdToken|Api)Tokens?|IdToken|Token|Password|ApiKeys?|PrivateKey|StreamKey|Presigned\w*|(?:Upload|Download|Session|Embed|Login|Console|Signed|File)Ur[il]\w*|UrlForLayer)(?:For\w+|With\w+|Pair)?$/i;

/** Reads that are charged by the amount that they read. */
export const chargedReads = /^(?:Select\w*|GetCost\w+|GetRightsizingRecommendation|Detect\w+|Calculate\w+)$/;

/** Things that are charged as long as they exist. */
const chargedThings =
  'Instance|Volume|Snapshot|Image|Backup|Replica|Cluster|Node[Gg]roup|Node|Fleet|Host|FileSystem|FileCache|Disk|Database|(?<!Route|Policy|Nat)Table|' +
  'Address|VpnConnection|PeeringConnection|(?<!Customer|Internet|Vpn)Gateway|LoadBalancer|Endpoint|HostedZone|HealthCheck|Domain|Certificate|' +
  '(?<!Api|Plan|Access|Public|Signing)Key|Secret|Alarm|Dashboard|Trail|(?<!Log)Stream|Stack|ChangeSet|AutoScalingGroup|Service|Task|Job|Execution|' +
  'Environment|Server|Runner|Router|PrivateLan|Proxy|Cache|ReplicationGroup|Capacity|CapacityReservation|License|PhoneNumber|Canary|Workspace|' +
  'Directory|FlowLog|BlueGreenDeployment|Project|Pipeline';

/** Names of operations that create something that is charged. What follows the thing says where it comes from or goes to. */
export const chargesByCreation = new RegExp(
  `^(?:Create|Copy|Restore|Import|Allocate|Request|Clone|Issue)\\w*(?:${chargedThings})(?:e?s)?(?:V\\d)?(?:(?:From|To|In|With|For|Into)[A-Z]\\w*)?$`,
);

/** Verbs that start or enlarge something. */
export const chargesByVerb =
  /^(?:Run|Start|Restore|Accept(?=\w*Quote)|Purchase|Invoke|Execute|Increase|Extend|Resize|Upgrade|Renew|Monitor|Provision|Launch|Scale|Promote|Failover|Resume|Export(?=Snapshot|Image|Instance)|Modify(?=\w*(?:Volume|Instance|Cluster|Capacity|Type|Size|FileSystem|Fleet|Reserved))|Update(?=\w*(?:Capacity|Concurrency|AutoScalingGroup|Service$|Table$|FileSystem|Nodegroup|Size|Count|Type))|Set(?=\w*(?:Capacity|Concurrency|Count|Size))|Put(?=\w*(?:Concurrency|Capacity)))(?![a-z])/;
