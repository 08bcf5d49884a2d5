/** A store whose values are encrypted as the keyring demands. Other values pass through unchanged, at the cost of one
 *  comparison. Values whose key is in memory are decrypted at once; only the others wait for a key management service.
 *
 *  A value that cannot be decrypted is never treated as absent, because controllers would act on its deletion. Reads of it
 *  fail, and watches end, until the service or the keyring has its key; the caller retries. */
import { asError } from '#api/kit/errno.ts';
import {
  type RangeResult,
  type SealedItem,
  type Store,
  type StoredItem,
  StoreError,
  type StoreEvent,
  type StoreWatch,
  type WatchSink,
  type WriteResult,
} from '../store/contract.ts';
import type { Chain, Eventual, Keyring } from './contract.ts';
import { isEncrypted, openValue, sealValue, type ValueDeps } from './open-value.ts';

export interface EncryptedStoreDeps extends ValueDeps {
  readonly store: Store;
  /** The keys in use; they may change between calls. */
  readonly keyring: () => Keyring;
}

interface Origin {
  readonly revision: number;
  readonly origin: string;
}

/** Origins of the newest known values of encrypted resources. */
class Origins {
  readonly #byKey = new Map<string, Origin>();

  set(key: string, revision: number, origin: string): void {
    const known = this.#byKey.get(key);
    if (known === undefined || known.revision <= revision) this.#byKey.set(key, { revision, origin });
  }

  get(key: string): string | undefined {
    return this.#byKey.get(key)?.origin;
  }

  delete(key: string): void {
    this.#byKey.delete(key);
  }
}

function chainOf({ chains }: Keyring, key: string): Chain | undefined {
  for (const [prefix, chain] of chains) if (key.startsWith(prefix)) return chain;
  return undefined;
}

/** Decrypts stored values and records their origins. */
class Opener {
  readonly #deps: EncryptedStoreDeps;
  readonly #origins: Origins;

  constructor(deps: EncryptedStoreDeps, origins: Origins) {
    this.#deps = deps;
    this.#origins = origins;
  }

  /** @throws StoreError */
  open<T extends StoredItem>(item: T): Eventual<T> {
    const chain = chainOf(this.#deps.keyring(), item.key);
    if (chain === undefined && !isEncrypted(this.#deps, item.value)) return item;
    const opened = openValue(this.#deps, chain, item.key, item.value);
    if (opened instanceof Promise) return opened.then(({ value, origin }) => this.#done(item, value, origin));
    return this.#done(item, opened.value, opened.origin);
  }

  #done<T extends StoredItem>(item: T, value: Buffer, origin: string): T {
    this.#origins.set(item.key, item.revision, origin);
    return { ...item, value };
  }

  event(event: StoreEvent): Eventual<StoreEvent> {
    if (event.type === 'put') return this.open(event);
    this.#origins.delete(event.key);
    return event;
  }

  /** Rejects with the error of the first item that cannot be opened. */
  all<T, R>(items: readonly T[], open: (item: T) => Eventual<R>): Eventual<readonly R[]> {
    const opened = items.map((item) => {
      try {
        return open(item);
      } catch (thrown) {
        return Promise.reject(asError(thrown));
      }
    });
    const isNow = (result: Eventual<R>): result is R => !(result instanceof Promise);
    return opened.every(isNow) ? opened : Promise.all(opened);
  }

  /** Separates the items that cannot be opened. */
  async each(items: readonly StoredItem[]): Promise<Pick<RangeResult, 'items' | 'sealed'>> {
    const opened: StoredItem[] = [];
    const sealed: SealedItem[] = [];
    const results = await Promise.allSettled(items.map(async (item) => this.open(item)));
    for (const [index, result] of results.entries()) {
      if (result.status === 'fulfilled') opened.push(result.value);
      else if (result.reason instanceof StoreError)
        sealed.push({ key: items[index]?.key ?? '', error: result.reason });
      else throw asError(result.reason);
    }
    return { items: opened, sealed };
  }
}

/** Delivers events in order. Later ones wait for those that are still being decrypted. */
class OpenedSink implements WatchSink {
  readonly #opener: Opener;
  readonly #sink: WatchSink;
  #isOver = false;
  /** Resolves once everything received so far has been delivered; absent: it has been. */
  pending: Promise<void> | undefined;

  constructor(opener: Opener, sink: WatchSink) {
    this.#opener = opener;
    this.#sink = sink;
  }

  close(): void {
    this.#isOver = true;
  }

  onEvents(events: readonly StoreEvent[]): void {
    const opened = this.#opener.all(events, (event) => this.#opener.event(event));
    this.#deliver(opened, (all) => this.#sink.onEvents(all));
  }

  onProgress(revision: number): void {
    this.#deliver(revision, (reached) => this.#sink.onProgress(reached));
  }

  onEnd(error: StoreError): void {
    this.#deliver(error, (reason) => this.#end(reason));
  }

  #end(error: StoreError): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#sink.onEnd(error);
  }

  #deliver<T>(given: Eventual<T>, give: (value: T) => void): void {
    if (this.pending === undefined && !(given instanceof Promise)) {
      if (!this.#isOver) give(given);
      return;
    }
    const delivered = this.#deliverLater(this.pending, given, give);
    this.pending = delivered;
    void delivered.finally(() => {
      if (this.pending === delivered) this.pending = undefined;
    });
  }

  async #deliverLater<T>(
    earlier: Promise<void> | undefined,
    given: Eventual<T>,
    give: (value: T) => void,
  ): Promise<void> {
    try {
      const [value] = await Promise.all([given, earlier]);
      if (!this.#isOver) give(value);
    } catch (thrown) {
      this.#end(
        thrown instanceof StoreError
          ? thrown
          : new StoreError('corrupt', 'events could not be applied', { cause: thrown }),
      );
    }
  }
}

export function createEncryptedStore(deps: EncryptedStoreDeps): Store {
  const { store, keyring } = deps;
  const origins = new Origins();
  const opener = new Opener(deps, origins);
  const sinks = new Set<OpenedSink>();

  /** A write that was acknowledged has been delivered to every watch. */
  async function delivered(result: WriteResult): Promise<WriteResult> {
    if (!result.ok && result.current !== undefined) {
      return { ok: false, current: await opener.open(result.current) };
    }
    for (const { pending } of sinks) if (pending !== undefined) await pending;
    return result;
  }

  return {
    isShared: store.isShared,
    revisionStep: store.revisionStep,
    currentRevision: () => store.currentRevision(),
    async get(key) {
      const item = await store.get(key);
      return item === undefined ? undefined : opener.open(item);
    },
    async range(prefix, { sealed, ...options } = {}): Promise<RangeResult> {
      const result = await store.range(prefix, options);
      if (sealed === 'return') return { ...result, ...(await opener.each(result.items)) };
      return { ...result, items: await opener.all(result.items, (item) => opener.open(item)) };
    },
    async put(key, value, expected) {
      const chain = chainOf(keyring(), key);
      const sealed = chain === undefined ? value : await sealValue(deps, chain, key, value);
      return delivered(await store.put(key, sealed, expected));
    },
    async delete(key, expected) {
      return delivered(await store.delete(key, expected));
    },
    watch(prefix, afterRevision, sink): StoreWatch {
      const opened = new OpenedSink(opener, sink);
      sinks.add(opened);
      const watch = store.watch(prefix, afterRevision, opened);
      return {
        requestProgress: () => watch.requestProgress(),
        close() {
          opened.close();
          sinks.delete(opened);
          watch.close();
        },
      };
    },
    compact: (revision) => store.compact(revision),
    close: () => store.close(),
    isStale(key) {
      const origin = origins.get(key);
      const chain = chainOf(keyring(), key);
      return origin !== undefined && chain !== undefined && !chain[0].isCurrent(origin);
    },
  };
}
