/** A value read from files that other programs replace, such as certificates and keys. File events trigger
 *  another reading; an unusable new content leaves the value before it in use. */
import { type FSWatcher, watch } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { asError, type Clock } from '../clock.ts';
import { createListeners } from '../listeners.ts';
import type { Logger } from '../logger.ts';
import { createLoop } from '../loop.ts';

export interface FollowedFiles<T> {
  readonly current: () => T;
  /** Calls the listener after each replacement of the value. @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
  readonly close: () => void;
}

export interface FollowDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'info'>;
}

export interface FollowOptions<T> {
  /** A noun phrase for the log: `client CA`. */
  readonly what: string;
  readonly paths: readonly string[];
  /** Subjects of errors, instead of the paths: `--client-ca-file: /etc/ca.crt`. */
  readonly names?: readonly string[];
  /** Parses the contents, in the order of the paths. `read` returns the content of a further file, which is then
   *  followed as well. @throws Error that names the invalid part */
  readonly parse: (texts: readonly string[], read: (path: string) => Promise<string>) => T | Promise<T>;
}

/** Writers need this long between the first event and the last one, in ms. */
const SETTLE_MS = 25;
/** A new certificate and its key do not match until both have been written: errors are reported later, in ms. */
const GRACE_MS = 1000;
/** Next reading where the kernel has no watches left, in ms. */
const UNWATCHED_MS = 60_000;

async function readText(file: string, name = file): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw new Error(`${name} cannot be read`, { cause });
  }
}

/** Returns the names to watch in each folder: a file, the target of a link, and the folder itself in its parent. */
async function watchedNames(paths: readonly string[]): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const names = new Map<string, Set<string>>();
  const add = (path: string): void => {
    const folder = dirname(path);
    const known = names.get(folder) ?? new Set();
    names.set(folder, known.add(basename(path)));
  };
  for (const path of paths) {
    add(path);
    add(dirname(path));
    add(await realpath(path).catch(() => path));
  }
  return names;
}

/** Volumes replace a whole folder behind a link, `..data`. */
const isRelevant = (name: string | null, names: ReadonlySet<string>): boolean =>
  name === null || names.has(name) || name.startsWith('..');

/** @throws Error of the first reading: a missing file, or one that `parse` does not accept */
export async function followFiles<T>(
  { clock, log }: FollowDeps,
  { what, paths, names, parse }: FollowOptions<T>,
): Promise<FollowedFiles<T>> {
  const readAll = (): Promise<readonly string[]> =>
    Promise.all(paths.map((path, index) => readText(path, names?.[index])));
  /** Contents of the further files that the value was read from. */
  let further: ReadonlyMap<string, string> = new Map();
  /** All files to watch, also those of a value that could not be used. */
  let watched: ReadonlySet<string> = new Set(paths);
  let watchers: readonly FSWatcher[] = [];
  let isIncomplete = false;
  const ending = new AbortController();
  const listeners = createListeners(what);

  async function watchAll(onEvent: () => void): Promise<void> {
    const before = watchers;
    isIncomplete = false;
    const folders = await watchedNames([...watched]);
    watchers = [...folders].flatMap(([folder, names]) => {
      try {
        const watcher = watch(folder, { persistent: false }, (_, name) => {
          if (isRelevant(name, names)) onEvent();
        });
        return [watcher.on('error', () => (isIncomplete = true))];
      } catch {
        // Also a folder that is missing for now; its parent is watched.
        isIncomplete = true;
        return [];
      }
    });
    for (const watcher of before) watcher.close();
    if (ending.signal.aborted) for (const watcher of watchers) watcher.close();
  }

  let texts: readonly string[];
  let value: T;

  async function isUnchanged(found: readonly string[]): Promise<boolean> {
    if (!found.every((text, index) => text === texts[index])) return false;
    for (const [path, text] of further) if ((await readText(path)) !== text) return false;
    return true;
  }

  /** Parses the contents; files that are read for the first time are watched from then on. */
  async function parseAll(found: readonly string[]): Promise<void> {
    const more = new Map<string, string>();
    const before = watched;
    try {
      value = await parse(found, async (path) => {
        watched = new Set([...watched, path]);
        const text = await readText(path);
        more.set(path, text);
        return text;
      });
      texts = found;
      further = more;
      watched = new Set([...paths, ...more.keys()]);
    } finally {
      if ([...watched].some((path) => !before.has(path))) onEvent();
    }
  }

  /** When the present content turned out to be unusable. */
  let badSinceMs: number | undefined;
  let reported = '';

  async function reload(): Promise<number | undefined> {
    try {
      const found = await readAll();
      const same = await isUnchanged(found);
      if (!same) {
        await parseAll(found);
        log.info({ files: paths }, `Changed ${what} loaded`);
      }
      badSinceMs = undefined;
      reported = '';
      if (!same) listeners.notify();
      return undefined;
    } catch (thrown) {
      return onFailure(asError(thrown));
    }
  }

  /** Returns when to read again. */
  function onFailure(err: Error): number | undefined {
    badSinceMs ??= clock.monotonic();
    const leftMs = badSinceMs + GRACE_MS - clock.monotonic();
    if (leftMs > 0) return clock.now() + leftMs;
    if (reported !== err.message) {
      log.warn({ err, files: paths }, `Failed to load changed ${what}; the previous one stays in use`);
    }
    reported = err.message;
    return undefined;
  }

  const loop = createLoop({
    clock,
    async step() {
      // A replaced folder or link needs another watch; nothing falls between, because the files are read after it.
      await watchAll(onEvent);
      const againMs = await reload();
      return againMs ?? (isIncomplete ? clock.now() + UNWATCHED_MS : undefined);
    },
    onError: (err) => log.warn({ err, files: paths }, `Failed to follow ${what}; retrying`),
  });
  function onEvent(): void {
    loop.wakeAt(clock.now() + SETTLE_MS);
  }

  await watchAll(onEvent);
  try {
    texts = await readAll();
    await parseAll(texts);
  } catch (thrown) {
    for (const watcher of watchers) watcher.close();
    throw thrown;
  }
  void loop.run(ending.signal);
  return {
    current: () => value,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      ending.abort();
      for (const watcher of watchers) watcher.close();
    },
  };
}
