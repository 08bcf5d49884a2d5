/** Kernel notifications about memory thresholds, through a small thread that waits for them: Node itself can
 *  wait only for sockets and files, and a blocking read would occupy a pool thread for ever. */
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Logger } from '#api/kit/logger.ts';
import type { FromWaiter, ToWaiter } from './protocol.ts';
import { type MemoryWatch, sameWatches } from './watches.ts';

export interface MemoryNoticeDeps {
  readonly log: Pick<Logger, 'warn'>;
  /** Called when a watch fired: a threshold may have been crossed in either direction. */
  readonly crossed: () => void;
}

export interface MemoryNotice {
  /** Replaces the current watches. */
  readonly watch: (watches: readonly MemoryWatch[]) => void;
  /** Stops the thread. */
  readonly close: () => Promise<void>;
}

const HEAP_MIB = 16;
const ONE = Buffer.from(new BigUint64Array([1n]).buffer);

/** Sources are executed directly; a bundle contains the program of the thread as a separate file. */
const programOf = (url: string): URL =>
  new URL(url.endsWith('.ts') ? './worker.ts' : './memory-worker.js', url);

export function createMemoryNotice({ log, crossed }: MemoryNoticeDeps): MemoryNotice {
  const worker = new Worker(programOf(import.meta.url), {
    name: 'memory notice',
    // Options of the process may concern its main file, such as `--eval`.
    execArgv: [],
    // Its descriptors come from system calls that Node does not track.
    trackUnmanagedFds: false,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB, maxYoungGenerationSizeMb: 2 },
  });
  worker.unref();
  let wakeFd: number | undefined;
  let watched: readonly MemoryWatch[] = [];
  let failed: string | undefined;
  const ended = Promise.withResolvers<void>();

  function say(message: ToWaiter): void {
    worker.postMessage(message, []);
    if (wakeFd !== undefined) writeSync(wakeFd, ONE);
  }
  const end = (): void => say({ kind: 'end' });

  function reportFailure(message: Extract<FromWaiter, { kind: 'failed' }>): void {
    const { watch, error } = message;
    const what = watch.kind === 'usage' ? watch.folder : watch.file;
    // The error repeats whenever the values are updated.
    if (failed !== what) log.warn({ err: error, of: what }, 'Memory threshold notifications not supported');
    failed = what;
  }

  worker.on('message', (message: FromWaiter) => {
    if (message.kind === 'crossed') crossed();
    else if (message.kind === 'failed') reportFailure(message);
    else {
      ({ wakeFd } = message);
      // Deliver messages sent before the thread could be woken.
      writeSync(wakeFd, ONE);
    }
  });
  worker.on('error', (err: Error) => log.warn({ err }, 'Memory notification thread ended'));
  worker.on('exit', () => {
    wakeFd = undefined;
    process.removeListener('exit', end);
    ended.resolve();
  });
  // A thread that sleeps in the kernel would prevent the process from exiting.
  process.once('exit', end);

  return {
    watch(watches) {
      if (sameWatches(watches, watched)) return;
      watched = watches;
      say({ kind: 'watch', watches });
    },
    close() {
      // From now on the process waits for the thread.
      worker.ref();
      end();
      return ended.promise;
    },
  };
}
