/** Building blocks of the conformance suite's cases. */
import { Buffer } from 'node:buffer';
import {
  type Store,
  StoreError,
  type StoreErrorReason,
  type StoreEvent,
  type StoreWatch,
} from '../contract.ts';

export interface StoreCase {
  readonly name: string;
  /** @param store without any keys under `/`
   *  @param seed of the random tests */
  readonly run: (store: Store, seed: number) => Promise<void>;
}

export const bytes = (text: string): Buffer => Buffer.from(text);

export const keysOf = (items: readonly { readonly key: string }[]): readonly string[] =>
  items.map(({ key }) => key);

/** Collects the events of a watch and waits for them. */
export interface Recorder {
  readonly events: StoreEvent[];
  readonly ended: () => StoreError | undefined;
  /** Resolves once everything up to the revision has been delivered. */
  readonly upTo: (revision: number) => Promise<readonly StoreEvent[]>;
  readonly untilEnd: () => Promise<StoreError>;
  readonly close: () => void;
}

export function record(store: Store, prefix: string, after: number): Recorder {
  const events: StoreEvent[] = [];
  let seen = 0;
  let end: StoreError | undefined;
  let check: (() => void)[] = [];
  const changed = (): void => {
    for (const call of check) call();
  };
  const watch: StoreWatch = store.watch(prefix, after, {
    onEvents(batch) {
      events.push(...batch);
      seen = Math.max(seen, batch.at(-1)?.revision ?? 0);
      changed();
    },
    onProgress(revision) {
      seen = Math.max(seen, revision);
      changed();
    },
    onEnd(error) {
      end = error;
      changed();
    },
  });
  function wait<T>(find: () => T | undefined): Promise<T> {
    return new Promise((resolve) => {
      const call = (): void => {
        const found = find();
        if (found === undefined) return;
        check = check.filter((other) => other !== call);
        resolve(found);
      };
      check.push(call);
      call();
    });
  }
  return {
    events,
    ended: () => end,
    upTo(revision) {
      if (seen < revision) watch.requestProgress();
      return wait(() => (seen >= revision || end !== undefined ? events : undefined));
    },
    untilEnd: () => wait(() => end),
    close: () => watch.close(),
  };
}

export async function mustPut(
  store: Store,
  key: string,
  value: string | Buffer,
  expected: 'absent' | number = 'absent',
): Promise<number> {
  const result = await store.put(key, typeof value === 'string' ? bytes(value) : value, expected);
  if (!result.ok) throw new Error(`${key}: expected ${expected}, found ${result.current?.revision}`);
  return result.revision;
}

export async function mustDelete(store: Store, key: string, expected: number): Promise<number> {
  const result = await store.delete(key, expected);
  if (!result.ok) throw new Error(`${key}: expected ${expected}, found ${result.current?.revision}`);
  return result.revision;
}

export async function reasonOf(work: Promise<unknown>): Promise<StoreErrorReason | 'none'> {
  try {
    await work;
    return 'none';
  } catch (thrown) {
    if (thrown instanceof StoreError) return thrown.reason;
    throw thrown;
  }
}
