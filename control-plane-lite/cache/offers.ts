/** Objects whose bytes this server is about to store, until the store tells of them: what it made the bytes of need
 *  not be parsed again. */
import { createTransientMap } from '#api/kit/transient.ts';
import type { ApiObject } from '../resources/contract.ts';

export interface Offers {
  /** The newest offer for a key counts. */
  add(key: string, stored: Buffer, object: ApiObject): void;
  /** The object that the bytes stored under the key were made of, if it was offered. The offer is over. */
  take(key: string, stored: Buffer): ApiObject | undefined;
}

interface Offer {
  readonly stored: Buffer;
  readonly object: ApiObject;
}

/** Writes that fail leave their offers behind; more than are ever under way are not kept. */
const MAX_OFFERS = 1024;

export function createOffers(limit: number = MAX_OFFERS): Offers {
  /** Oldest first. */
  const offers = createTransientMap<string, Offer>();
  return {
    add(key, stored, object) {
      offers.delete(key);
      offers.set(key, { stored, object });
      if (offers.size <= limit) return;
      const [oldest] = offers.keys();
      if (oldest !== undefined) offers.delete(oldest);
    },
    take(key, stored) {
      const offer = offers.get(key);
      // Another server may have been faster; then this offer's own event may still come.
      if (offer === undefined || !offer.stored.equals(stored)) return undefined;
      offers.delete(key);
      return offer.object;
    },
  };
}
