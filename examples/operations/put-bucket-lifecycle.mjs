// PutBucketLifecycleConfiguration of S3. The effect is "alter" because it replaces all rules, so it cannot be split.
/** @param {import('cloudops-mcp/operation').Kit} kit */
export default ({ defineOperation, z, fields, xml, counted, say, encodeSegment }) => {
  const rule = () =>
    z.strictObject({
      id: fields.text(60).describe('Name of the rule.'),
      prefix: fields.text(200).describe('Key prefix of the objects.'),
      days: fields.wholeNumber(1, 36_500).describe('Age in days at which an object is deleted.'),
    });
  const ruleText = (/** @type {any} */ { id, prefix, days }) =>
    say`${id}: objects below ${prefix} go after ${days} days.`;
  const element = (/** @type {any} */ { id, prefix, days }) => ({
    ID: id,
    Filter: { Prefix: prefix },
    Status: 'Enabled',
    Expiration: { Days: days },
  });

  const putBucketLifecycle = defineOperation({
    name: 'put_bucket_lifecycle',
    api: 'PutBucketLifecycleConfiguration',
    title: 'Replace the lifecycle rules of a bucket',
    description: 'Replaces all rules by which a bucket deletes old objects. Rules that are left out are lost.',
    effect: 'alter',
    service: 'storage',
    method: 'PUT',
    answer: 'none',
    repeatable: true,
    example: { bucket: 'demo-bucket', rules: [{ id: 'old-logs', prefix: 'logs/', days: 30 }] },
    input: () => {
      const rules = z.array(rule()).min(1, 'must hold a rule').max(16, 'must hold at most 16 rules');
      const bucket = fields.pathName().describe('Bucket name.');
      const input = z.strictObject({ bucket, rules: rules.describe('All rules.'), ...fields.planArguments() });
      return fields.withConditions(input, (values, report) => {
        const ids = Array.isArray(values.rules) ? values.rules.map((rule) => rule?.id) : [];
        for (const [index, id] of ids.entries())
          if (ids.indexOf(id) < index) report(`rules[${index}].id`, 'is the name of an earlier rule');
      });
    },
    change: {
      costsMoney: false,
      continues: false,
      headline: ({ bucket, rules }) => say`Give bucket ${bucket} ${counted(rules.length, 'lifecycle rule')}`,
      accept: () => say`Replace rules`,
      consequences: ({ rules }) => rules.map(ruleText),
      warnings: () => [],
      notChecked: ['which rules the bucket has now: rules that are left out are lost'],
      named: ['bucket', 'rules'],
      verificationHint: ({ bucket }) => say`the rules given, in the lifecycle configuration of bucket ${bucket}`,
      ifTooLarge: 'Shorten names and prefixes: the rules can only be replaced together.',
    },
    request: ({ bucket, rules }) => ({
      path: `/${encodeSegment(bucket)}`,
      query: { lifecycle: true },
      body: xml('LifecycleConfiguration', { Rule: rules.map(element) }, { contentMd5: true }),
    }),
    summarize: (_, { bucket, rules }) => say`Bucket ${bucket} has ${counted(rules.length, 'rule')} now.`,
  });
  return [putBucketLifecycle];
};
