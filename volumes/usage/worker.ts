/** Program of the measuring thread: runs one task and exits. */
import { parentPort, workerData } from 'node:worker_threads';
import { measureAll } from './measure.ts';
import type { FromThread, MeasureTask } from './protocol.ts';

/** Pause between two batches in ms, so that a large volume does not occupy a whole CPU. */
const REST_MS = 5;

function isTask(data: unknown): data is MeasureTask {
  return typeof data === 'object' && data !== null && 'pods' in data && 'skipped' in data && 'asked' in data;
}

const still = new Int32Array(new SharedArrayBuffer(4));
const port = parentPort;
if (port !== null && isTask(workerData)) {
  measureAll(workerData, {
    report: (message: FromThread) => port.postMessage(message, []),
    rest: () => void Atomics.wait(still, 0, 0, REST_MS),
  });
}
