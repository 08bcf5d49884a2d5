/** Tells when the kernel finds memory running short, through a small thread that waits for it: Node itself can wait for
 *  sockets and files alone, and a read that waits would take a thread of its pool for ever. */
import { writeSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { Logger } from '#api/kit/logger.ts';
import type { FromWaiter, ToWaiter } from './protocol.ts';
import { type MemoryWatch, sameWatches } from './watches.ts';

export interface MemoryNoticeDeps {
  readonly log: Pick<Logger, 'warn'>;
  /** A watch fired: either side of a threshold may have been reached. */
  readonly crossed: () => void;
}

export interface MemoryNotice {
  /** Watches this instead of what was watched before. */
  readonly watch: (watches: readonly MemoryWatch[]) => void;
  /** Ends the thread. */
  readonly close: () => Promise<void>;
}

const HEAP_MIB = 16;
const ONE = Buffer.from(new BigUint64Array([1n]).buffer);

/** Sources run as they are; a bundle has the thread's program as a file beside it. */
const programOf = (url: string): URL =>
  new URL(url.endsWith('.ts') ? './worker.ts' : './memory-worker.js', url);

export function createMemoryNotice({ log, crossed }: MemoryNoticeDeps): MemoryNotice {
  const worker = new Worker(programOf(import.meta.url), {
    name: 'memory notice',
    // The program's own options may be about its main file, such as `--eval`.
    execArgv: [],
    // Its descriptors are those of system calls, which Node knows nothing of.
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

  function tellFailure(message: Extract<FromWaiter, { kind: 'failed' }>): void {
    const { watch, error } = message;
    const what = watch.kind === 'usage' ? watch.folder : watch.file;
    // The same each time that numbers have moved.
    if (failed !== what) log.warn({ err: error, of: what }, 'The kernel does not watch memory here');
    failed = what;
  }

  worker.on('message', (message: FromWaiter) => {
    if (message.kind === 'crossed') crossed();
    else if (message.kind === 'failed') tellFailure(message);
    else {
      ({ wakeFd } = message);
      // What was said before it could be woken.
      writeSync(wakeFd, ONE);
    }
  });
  worker.on('error', (err: Error) => log.warn({ err }, 'The thread that waits for memory notices ended'));
  worker.on('exit', () => {
    wakeFd = undefined;
    process.removeListener('exit', end);
    ended.resolve();
  });
  // A thread that sleeps in the kernel would keep the process from ending.
  process.once('exit', end);

  return {
    watch(watches) {
      if (sameWatches(watches, watched)) return;
      watched = watches;
      say({ kind: 'watch', watches });
    },
    close() {
      // Waited for, from now on.
      worker.ref();
      end();
      return ended.promise;
    },
  };
}
