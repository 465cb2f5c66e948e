/** Resolves with the result of `work`, or rejects with `late` if `work` takes longer than `ms` milliseconds. `work` itself then goes on. */
export async function withinTime<Value>(work: Promise<Value>, ms: number, late: Error): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(reject, ms, late);
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
}
