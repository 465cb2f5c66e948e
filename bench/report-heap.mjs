// Preloaded into a replica of the soak: at each SIGUSR2, it collects garbage and writes the heap that is left to stderr.
import { getHeapStatistics } from 'node:v8';

process.on('SIGUSR2', () => {
  globalThis.gc();
  const { used_heap_size: heap, external_memory: external } = getHeapStatistics();
  process.stderr.write(`${JSON.stringify({ event: 'heap', heap, external })}\n`);
});
