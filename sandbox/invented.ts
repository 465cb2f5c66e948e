import type { Answer } from './http.js';

/** What an answer may hold that the reference does not show, by the words of the header `x-sandbox-invented`. */
export const inventedWords = {
  error: 'the error: its code and status follow services of the family',
  operation: 'the operation: the reference only refers to it, or does not know it; it follows S3',
  content: 'the bytes: parts that were there from the start are zeros',
  read: 'the operation: the reference has none that reads groups, clusters or servers; their records have its shapes',
  status: 'the status after the first, and when it comes',
  versions: 'versions that were not in the request',
  servers: 'ids and addresses of servers and disks, at most 100 servers a pool',
  balancer: 'id and name of the load balancer, and addresses that were not in the request',
  groups: 'firewall group, parameter group and disk size that were not in the request',
  urls: 'the addresses of the server and of the person to alert',
} as const;

/** Marks an answer with words of `inventedWords`. */
export function invented(answer: Answer, ...words: readonly (keyof typeof inventedWords)[]): Answer {
  const known = answer.headers['x-sandbox-invented']?.split(',') ?? [];
  const all = [...new Set([...known, ...words])].join(',');
  return all === '' ? answer : { ...answer, headers: { ...answer.headers, 'x-sandbox-invented': all } };
}

/** What every answer of an operation has to be marked with, by what describes it. */
export const sourceWords = { reference: [], s3: ['operation'], sandbox: ['read'] } as const;
