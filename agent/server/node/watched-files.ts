/** The text of files that somebody else renews. */

import { readFile } from 'node:fs/promises';
import { asError, type Clock } from '#api/kit/clock.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface WatchedFiles {
  /** In the order of the paths, as they were last read together. */
  readonly texts: () => readonly string[];
  /** @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
  /** Looks at once. @throws Error that names the file which can't be read */
  readonly look: () => Promise<void>;
}

export interface WatchedFilesDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

/** Nothing tells of a file whose directory is exchanged behind a link, as volumes do it: it is looked at. */
const LOOK_MS = 60_000;

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`${file} could not be read`, { cause });
  }
}

/** @throws Error that names the file which can't be read */
export async function watchFiles(
  { clock, log }: WatchedFilesDeps,
  paths: readonly string[],
): Promise<WatchedFiles> {
  let texts = await Promise.all(paths.map(readText));
  const listeners = createListeners('watched files');
  let stopLooking: () => void = () => undefined;

  async function look(): Promise<void> {
    const found = await Promise.all(paths.map(readText));
    if (found.every((text, index) => text === texts[index])) return;
    texts = found;
    log.info({ files: paths }, 'Files changed and were read again');
    listeners.notify();
  }

  function lookLater(): void {
    const again = (): void => {
      if (listeners.size > 0) lookLater();
    };
    const timer = clock.setTimer(() => {
      look()
        .catch((thrown: unknown) => log.warn({ err: asError(thrown) }, 'Files were not read again'))
        .finally(again);
    }, LOOK_MS);
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
    look,
  };
}
