/** Pending writes: objects whose bytes this server is about to store, until the store reports them, so that
 *  the stored bytes need not be parsed again. */
import { createTransientMap } from '#api/kit/transient.ts';
import type { ApiObject } from '../../resources/contract.ts';

export interface PendingWrites {
  /** The newest object registered for a key counts. */
  add(key: string, stored: Buffer, object: ApiObject): void;
  /** Takes the object that the bytes stored under the key were encoded from, if it was registered. */
  take(key: string, stored: Buffer): ApiObject | undefined;
}

interface PendingWrite {
  readonly stored: Buffer;
  readonly object: ApiObject;
}

/** Failed writes leave their entries behind; the number of entries is bounded by the writes that can be in
 *  flight. */
const MAX_PENDING = 1024;

export function createPendingWrites(limit: number = MAX_PENDING): PendingWrites {
  /** Oldest first. */
  const pendingWrites = createTransientMap<string, PendingWrite>();
  return {
    add(key, stored, object) {
      pendingWrites.delete(key);
      pendingWrites.set(key, { stored, object });
      if (pendingWrites.size <= limit) return;
      const [oldest] = pendingWrites.keys();
      if (oldest !== undefined) pendingWrites.delete(oldest);
    },
    take(key, stored) {
      const pendingWrite = pendingWrites.get(key);
      // Another server may have written first; the event of this entry may still arrive.
      if (pendingWrite === undefined || !pendingWrite.stored.equals(stored)) return undefined;
      pendingWrites.delete(key);
      return pendingWrite.object;
    },
  };
}
