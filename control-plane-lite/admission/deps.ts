/** Dependencies of the admission plugins. */
import type { Clock } from '#api/kit/clock.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Authorizer } from '../authz/contract.ts';
import type { CacheChange, CachedObject, WatchHandle } from '../cache/contract.ts';

/** The objects of one resource; none where it is not served. Keys are the cache's: `namespace/name`, or `name`. */
export interface ObjectSource {
  /** As the cache has it now. */
  get(key: string): CachedObject | undefined;
  /** In the newest state: waits for that if the cache does not have the object. */
  find(key: string): Promise<CachedObject | undefined>;
  /** First the state, then every change. */
  follow(listener: (change: CacheChange) => void): WatchHandle;
}

export interface AdmissionDeps {
  readonly vocabulary: Vocabulary;
  readonly clock: Clock;
  readonly gates: ReadonlySet<string>;
  readonly authorizer: Pick<Authorizer, 'authorize'>;
  /** `group`: as on the wire, empty for the core group. */
  readonly objects: (group: string, plural: string) => ObjectSource;
}
