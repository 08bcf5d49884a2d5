/** Text of files that another program renews, such as certificates. */

import { readFile } from 'node:fs/promises';
import type { Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface WatchedFiles {
  /** Contents in the order of the paths, as they were last read together. */
  readonly texts: () => readonly string[];
  /** @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
  /** Checks immediately. @throws Error naming the unreadable file */
  readonly check: () => Promise<void>;
}

export interface WatchedFilesDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** File events do not report a directory that is replaced behind a link, as in volumes, so files are also
 *  polled. */
const CHECK_MS = 60_000;

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${file}`, { cause });
  }
}

/** @throws Error naming the unreadable file */
export async function watchFiles(
  { clock, log }: WatchedFilesDeps,
  paths: readonly string[],
): Promise<WatchedFiles> {
  let texts = await Promise.all(paths.map(readText));
  const listeners = createListeners('watched files');
  let stopLooking: () => void = () => undefined;

  async function check(): Promise<void> {
    const found = await Promise.all(paths.map(readText));
    if (found.every((text, index) => text === texts[index])) return;
    texts = found;
    log.info({ files: paths }, 'Changed files reloaded');
    listeners.notify();
  }

  function lookLater(): void {
    const again = (): void => {
      if (listeners.size > 0) lookLater();
    };
    const timer = clock.setTimer(() => {
      check()
        .catch((thrown: unknown) => log.warn({ err: asError(thrown) }, 'Failed to reload files'))
        .finally(again);
    }, CHECK_MS);
    stopLooking = () => timer.cancel();
  }

  return {
    texts: () => texts,
    onChange(listener) {
      listeners.add(listener);
      if (listeners.size === 1) lookLater();
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stopLooking();
      };
    },
    check,
  };
}
