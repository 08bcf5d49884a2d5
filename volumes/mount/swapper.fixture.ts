/** A simulated container that swaps a directory for a link as fast as it can, for tests. */
import { Worker } from 'node:worker_threads';

/** Exchanges two names of the directory until it is terminated; several links take turns. */
const SWAPPER = `
const { workerData, parentPort } = require('node:worker_threads');
import(workerData.koffi).then(({ default: koffi }) => {
  const rename = koffi.load(null).func('int renameat2(int, const char *, int, const char *, unsigned int)');
  const { dir, name, links, pauseUs } = workerData;
  parentPort.postMessage('running');
  for (let turn = 0; ; turn += 1) {
    const link = links[(turn >> 1) % links.length];
    rename(-100, dir + '/' + name, -100, dir + '/' + link, 2);
    for (const end = performance.now() + pauseUs / 1000; performance.now() < end; );
  }
});`;

/** @param links names in the directory, each of which replaces `name` for a while
 *  @param pauseUs pause between two exchanges: without any, the kernel hardly completes a resolution */
export async function startSwapping(
  dir: string,
  name = 'a',
  links: readonly string[] = ['link'],
  pauseUs = 0,
): Promise<AsyncDisposable> {
  const workerData = { dir, name, links, pauseUs, koffi: import.meta.resolve('koffi') };
  const worker = new Worker(SWAPPER, { eval: true, workerData });
  await new Promise((resolve) => worker.once('message', resolve));
  return {
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
}
