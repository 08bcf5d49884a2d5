/** A value read from files that other programs replace, such as certificates and keys. File events trigger
 *  another reading; an unusable new content leaves the value before it in use. */
import { readFile } from 'node:fs/promises';
import { type Clock } from '../clock.ts';
import { asError } from '../errno.ts';
import { createListeners } from '../listeners.ts';
import type { Logger } from '../logger.ts';
import { createLoop } from '../loop.ts';
import { createPathsWatch } from './watch-paths.ts';

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

/** The contents of the files, and the value parsed from them. */
class Content<T> {
  readonly #options: FollowOptions<T>;
  #texts: readonly string[] = [];
  /** Contents of the further files that the value was read from. */
  #further: ReadonlyMap<string, string> = new Map();
  #value: { readonly is: T } | undefined;
  /** All files to watch, also those of a content that could not be used. */
  watched: ReadonlySet<string>;

  constructor(options: FollowOptions<T>) {
    this.#options = options;
    this.watched = new Set(options.paths);
  }

  get value(): T {
    if (this.#value === undefined) throw new Error(`${this.#options.what} has not been read`);
    return this.#value.is;
  }

  /** Reports whether the value was replaced. @throws Error that names the unusable file */
  async read(): Promise<boolean> {
    const { paths, names, parse } = this.#options;
    const texts = await Promise.all(paths.map((path, index) => readText(path, names?.[index])));
    if (this.#value !== undefined && (await this.#isUnchanged(texts))) return false;
    const further = new Map<string, string>();
    const is = await parse(texts, async (path) => {
      this.watched = new Set([...this.watched, path]);
      const text = await readText(path);
      further.set(path, text);
      return text;
    });
    this.#value = { is };
    this.#texts = texts;
    this.#further = further;
    this.watched = new Set([...paths, ...further.keys()]);
    return true;
  }

  async #isUnchanged(texts: readonly string[]): Promise<boolean> {
    if (!texts.every((text, index) => text === this.#texts[index])) return false;
    for (const [path, text] of this.#further) if ((await readText(path)) !== text) return false;
    return true;
  }
}

/** Reports the failure of a changed content once, unless it ends within the time that writers need. */
function createComplaints({ clock, log }: FollowDeps, { what, paths }: FollowOptions<unknown>) {
  let sinceMs: number | undefined;
  let reported = '';
  return {
    clear() {
      sinceMs = undefined;
      reported = '';
    },
    /** Returns when to read again. */
    add(err: Error): number | undefined {
      sinceMs ??= clock.monotonic();
      const leftMs = sinceMs + GRACE_MS - clock.monotonic();
      if (leftMs > 0) return clock.now() + leftMs;
      if (reported !== err.message)
        log.warn({ err, files: paths }, `Failed to load changed ${what}; the previous one stays in use`);
      reported = err.message;
      return undefined;
    },
  };
}

/** @throws Error of the first reading: a missing file, or one that `parse` does not accept */
export async function followFiles<T>(deps: FollowDeps, options: FollowOptions<T>): Promise<FollowedFiles<T>> {
  const { clock, log } = deps;
  const { what, paths } = options;
  const content = new Content(options);
  const complaints = createComplaints(deps, options);
  const listeners = createListeners(what);
  const ending = new AbortController();
  const watching = createPathsWatch(() => loop.wakeAt(clock.now() + SETTLE_MS));

  async function reload(): Promise<number | undefined> {
    try {
      const isNew = await content.read();
      complaints.clear();
      if (!isNew) return undefined;
      log.info({ files: paths }, `Changed ${what} loaded`);
      listeners.notify();
      return undefined;
    } catch (thrown) {
      return complaints.add(asError(thrown));
    }
  }

  const loop = createLoop({
    clock,
    async step() {
      // Nothing falls between, because the files are read after they are watched.
      const before = content.watched;
      const isComplete = await watching.watch(before);
      const againMs = await reload();
      if ([...content.watched].some((path) => !before.has(path))) loop.wake();
      return againMs ?? (isComplete ? undefined : clock.now() + UNWATCHED_MS);
    },
    onError: (err) => log.warn({ err, files: paths }, `Failed to follow ${what}; retrying`),
  });

  await content.read();
  // Files may have changed before they are watched.
  loop.wake();
  void loop.run(ending.signal);
  return {
    current: () => content.value,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    close() {
      ending.abort();
      watching.close();
    },
  };
}
