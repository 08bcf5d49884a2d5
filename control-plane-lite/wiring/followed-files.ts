/** Files that are replaced while the server runs, such as keys. They are polled, because file events do not report a
 *  directory that is replaced behind a link, as in volumes. */
import { readFile } from 'node:fs/promises';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface FollowedFilesDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'info' | 'warn'>;
  /** Ends the polling. */
  readonly signal: AbortSignal;
}

const POLL_MS = 5000;

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`cannot read ${file}`, { cause });
  }
}

/** Returns a function that returns the newest value parsed from the texts of the files, in their order. A change that
 *  cannot be read or parsed is logged, and the value before remains.
 *  @throws Error that names the unreadable file, and whatever `parse` throws at the start */
export async function followFiles<T>(
  deps: FollowedFilesDeps,
  files: readonly string[],
  parse: (texts: readonly string[]) => T,
): Promise<() => T> {
  const { clock, log, signal } = deps;
  let texts = await Promise.all(files.map(readText));
  let value = parse(texts);

  async function poll(): Promise<void> {
    try {
      const found = await Promise.all(files.map(readText));
      if (found.every((text, index) => text === texts[index])) return;
      value = parse(found);
      texts = found;
      log.info({ files }, 'Changed files reloaded');
    } catch (err) {
      log.warn({ err, files }, 'Failed to reload files');
    }
  }

  async function run(): Promise<void> {
    while (!signal.aborted) {
      await sleep(clock, POLL_MS, signal).catch(() => undefined);
      if (!signal.aborted) await poll();
    }
  }
  if (files.length > 0) void run();
  return () => value;
}
