/** A path into arguments or an answer as people write it: `adminCluster.nodePools[0].name`. */
export const dotted = (path: readonly PropertyKey[]): string =>
  path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    return text === '' ? String(step) : `${text}.${String(step)}`;
  }, '');
