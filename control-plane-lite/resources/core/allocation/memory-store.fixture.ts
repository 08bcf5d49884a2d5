/** In-memory store for tests of pools, which check allocation and not persistence. */
import type { Buffer } from 'node:buffer';
import type { Expected, RangeResult, StoredItem, WriteResult } from '../../../store/contract.ts';
import type { PoolDeps } from './pool.ts';

export interface MemoryStore {
  readonly store: PoolDeps['store'];
  readonly keys: () => readonly string[];
}

export function createMemoryStore(): MemoryStore {
  const items = new Map<string, StoredItem>();
  let revision = 0;
  const holds = (current: StoredItem | undefined, expected: Expected): boolean =>
    expected === 'absent' ? current === undefined : current?.revision === expected;

  function write(key: string, expected: Expected, value: Buffer | undefined): WriteResult {
    const current = items.get(key);
    if (!holds(current, expected)) return { ok: false, current };
    revision += 1;
    if (value === undefined) items.delete(key);
    else items.set(key, { key, value, revision });
    return { ok: true, revision };
  }

  async function range(prefix: string): Promise<RangeResult> {
    await Promise.resolve();
    const found = [...items.values()].filter(({ key }) => key.startsWith(prefix));
    return { revision, items: found.toSorted((a, b) => (a.key < b.key ? -1 : 1)), more: false };
  }

  return {
    keys: () => [...items.keys()].toSorted(),
    store: {
      get: async (key) => {
        await Promise.resolve();
        return items.get(key);
      },
      range,
      put: async (key, value, expected) => {
        await Promise.resolve();
        return write(key, expected, value);
      },
      delete: async (key, expected) => {
        await Promise.resolve();
        return write(key, expected, undefined);
      },
    },
  };
}
