/** Calls of the store that last are waits of the server. */
import { NO_RESPONSE, type Waits } from '#api/kit/waits.ts';
import type { Store } from './contract.ts';

/** The same store, whose calls show when they last.
 *  @param name by which people know the store */
export function withCallWaits(store: Store, name: string, waits: Pick<Waits, 'during'>): Store {
  const watch =
    <A extends readonly unknown[], R>(call: string, run: (...args: A) => Promise<R>) =>
    (...args: A): Promise<R> =>
      waits.during(`${call} in ${name}`, run(...args), NO_RESPONSE);
  return {
    ...(store.isStale === undefined ? {} : { isStale: store.isStale }),
    isShared: store.isShared,
    revisionStep: store.revisionStep,
    currentRevision: watch('look at the revision', () => store.currentRevision()),
    get: watch('read', (key) => store.get(key)),
    range: watch('list', (prefix, options) => store.range(prefix, options)),
    put: watch('write', (key, value, expected) => store.put(key, value, expected)),
    delete: watch('deletion', (key, expected) => store.delete(key, expected)),
    watch: (prefix, afterRevision, sink) => store.watch(prefix, afterRevision, sink),
    compact: watch('compaction', (revision) => store.compact(revision)),
    close: () => store.close(),
  };
}
