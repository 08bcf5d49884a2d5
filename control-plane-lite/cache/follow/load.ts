/** Loads the whole state: first from a little before the newest revision, later at the newest, and without the values
 *  that cannot be decrypted if the server could not start otherwise. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type RangeResult, type Store, StoreError } from '../../store/contract.ts';
import type { FeedOptions, FeedTarget } from './target.ts';
import { describeSealed } from './unseal.ts';

type LoadStore = Pick<Store, 'revisionStep' | 'currentRevision' | 'range'>;
type LoadTarget = Pick<FeedTarget, 'begin' | 'sealed'>;

const PAGE = 500;
/** After this time the server starts without the values that cannot be decrypted, in ms. */
const SEALED_AFTER_MS = 15_000;

/** The requested revision is compacted or was never reached, or the known state is not one of this store. */
export function isLost(error: unknown): boolean {
  if (!(error instanceof StoreError)) return false;
  return error.reason === 'compacted' || error.reason === 'future' || error.reason === 'corrupt';
}

interface LoadOptions {
  readonly prefix: string;
  /** The revision to read; absent: the newest. */
  readonly revision: number | undefined;
  readonly signal: AbortSignal;
  /** Returns whether the state may be served without the value; absent: without none. */
  readonly maySeal?: (key: string) => boolean;
}

/** Returns the last key of a page. */
function lastKey({ items, sealed = [] }: RangeResult): string | undefined {
  const [item, other] = [items.at(-1)?.key, sealed.at(-1)?.key];
  if (item === undefined || other === undefined) return item ?? other;
  return Buffer.compare(Buffer.from(item), Buffer.from(other)) > 0 ? item : other;
}

/** Reads the whole state at one revision. @throws StoreError of a value that may not be missing */
async function load(store: LoadStore, target: LoadTarget, options: LoadOptions): Promise<void> {
  const loading = target.begin();
  const { maySeal } = options;
  const sealed: string[] = [];
  let { revision } = options;
  let after: string | undefined;
  for (;;) {
    const page: RangeResult = await store.range(options.prefix, {
      limit: PAGE,
      ...(revision === undefined ? {} : { revision }),
      ...(after === undefined ? {} : { after }),
      ...(maySeal === undefined ? {} : { sealed: 'return' }),
    });
    options.signal.throwIfAborted();
    revision = page.revision;
    loading.add(page.items);
    for (const { key, error } of page.sealed ?? []) {
      if (maySeal?.(key) !== true) throw error;
      sealed.push(key);
    }
    after = lastKey(page);
    if (!page.more || after === undefined) break;
  }
  for (const key of sealed) target.sealed.add(key);
  loading.finish(revision);
}

/** Loads the initial state, from a little before the newest revision if the store still has it. */
async function loadFirst(
  deps: { readonly store: LoadStore; readonly target: LoadTarget },
  options: FeedOptions,
  signal: AbortSignal,
): Promise<void> {
  const { store, target } = deps;
  const { prefix, replayWrites } = options;
  const newest = await store.currentRevision();
  const step = store.revisionStep;
  const revision = replayWrites > 0 ? Math.max(step, newest - replayWrites * step) : undefined;
  try {
    await load(store, target, { prefix, revision, signal });
  } catch (error) {
    if (!isLost(error)) throw error;
    await load(store, target, { prefix, revision: undefined, signal });
  }
}

export interface LoadsDeps {
  readonly store: LoadStore;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Logger;
  readonly target: LoadTarget;
}

export interface Loads {
  /** Replays the last changes before the start. */
  first(signal: AbortSignal): Promise<void>;
  /** A value that was readable once must not appear to be deleted. @throws StoreError of such a value */
  again(signal: AbortSignal): Promise<void>;
  /** Loads what can be decrypted. Replays no changes, because some may be unreadable. */
  readable(signal: AbortSignal): Promise<void>;
  /** Whether the start takes so long that only `readable` may succeed. */
  readonly isLate: boolean;
  /** The store could not be followed. */
  failed(error: Error): void;
  /** The store is followed. */
  done(): void;
}

export function createLoads({ store, clock, log, target }: LoadsDeps, options: FeedOptions): Loads {
  const { prefix, indispensable = [] } = options;
  const { sealed } = target;
  const beganMs = clock.monotonic();
  let failure: Error | undefined;
  let isDone = false;
  const newest = (signal: AbortSignal, maySeal?: (key: string) => boolean): Promise<void> =>
    load(store, target, {
      prefix,
      revision: undefined,
      signal,
      ...(maySeal === undefined ? {} : { maySeal }),
    });
  return {
    first: (signal) => loadFirst({ store, target }, options, signal),
    again(signal) {
      const known = new Set(sealed.keys());
      return known.size === 0 ? newest(signal) : newest(signal, (key) => known.has(key));
    },
    async readable(signal) {
      await newest(signal, (key) => !indispensable.some((each) => key.startsWith(each)));
      if (sealed.size === 0) return;
      const missing = describeSealed(sealed.keys(), prefix);
      log.warn({ missing, err: failure }, 'Stored values cannot be decrypted; serving without them');
    },
    get isLate() {
      return !isDone && failure !== undefined && clock.monotonic() - beganMs >= SEALED_AFTER_MS;
    },
    failed(error) {
      failure ??= error;
    },
    done() {
      isDone = true;
    },
  };
}
