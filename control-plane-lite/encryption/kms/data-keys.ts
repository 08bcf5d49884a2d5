/** Cache of decrypted data keys: the least recently used ones are dropped. A data key that was just written or
 *  read is available without a call of the key management service. */
import { Buffer } from 'node:buffer';
import type { DataKeyMetrics, Direction } from '../metrics.ts';

export interface DataKeys {
  /** Returns the data key, from the cache or from `decrypt`. One call serves all concurrent requests of a key. */
  get(encrypted: Buffer, decrypt: () => Promise<Buffer>): Buffer | Promise<Buffer>;
  add(encrypted: Buffer, key: Buffer, direction: Direction): void;
}

const idOf = (encrypted: Buffer): string => encrypted.toString('latin1');

/** @param capacity 0: nothing is cached */
export function createDataKeys(capacity: number, metrics: DataKeyMetrics): DataKeys {
  const cached = new Map<string, Buffer>();
  const pending = new Map<string, Promise<Buffer>>();

  function store(id: string, key: Buffer): void {
    if (capacity === 0) return;
    cached.delete(id);
    cached.set(id, key);
    const [oldest] = cached.keys();
    if (cached.size > capacity && oldest !== undefined) cached.delete(oldest);
    metrics.cacheFilled(cached.size / capacity);
  }

  async function load(id: string, decrypt: () => Promise<Buffer>): Promise<Buffer> {
    metrics.cacheMissed();
    try {
      const key = await decrypt();
      store(id, key);
      metrics.arrived('from_storage');
      return key;
    } finally {
      pending.delete(id);
    }
  }

  return {
    get(encrypted, decrypt) {
      const id = idOf(encrypted);
      const known = cached.get(id);
      if (known !== undefined) {
        store(id, known);
        return known;
      }
      const running = pending.get(id) ?? load(id, decrypt);
      pending.set(id, running);
      return running;
    },
    add(encrypted, key, direction) {
      store(idOf(encrypted), key);
      metrics.arrived(direction);
    },
  };
}
