/** Pages of a past state that the cache no longer holds but the store may. */
import { type Store, StoreError } from '../../store/contract.ts';
import { type CachedObject, CacheError, type ListOptions, type ListPage } from '../contract.ts';
import { type ObjectContext, StoredObject } from '../state/cached-object.ts';
import { compileSelection } from '../state/selection.ts';
import { withRevision } from '../state/stored-form.ts';
import { rangeOf } from './page.ts';

export interface PastListDeps {
  readonly range: Store['range'];
  /** The cache's newest revision. */
  readonly newest: () => number;
}

const PIECE = 500;

function cacheError(error: unknown, revision: number, newest: number): Error {
  if (!(error instanceof StoreError)) {
    return error instanceof Error ? error : new Error('range failed', { cause: error });
  }
  if (error.reason === 'compacted') {
    return new CacheError(
      'expired',
      `too old resource version: ${revision} (${error.revision ?? newest})`,
      newest,
    );
  }
  if (error.reason === 'future') return new CacheError('future', error.message, newest);
  return new CacheError('unavailable', error.message, newest);
}

/** Returns one page, read from the store.
 *  @throws CacheError `expired` if the store has compacted that state too */
export async function listPast(
  deps: PastListDeps,
  place: { readonly prefix: string; readonly context: ObjectContext },
  options: ListOptions,
  revision: number,
): Promise<ListPage> {
  const { after: start, prefix = '' } = rangeOf(options);
  const matches = compileSelection({ labels: options.labels, fields: options.fields });
  const limit = options.limit ?? Number.POSITIVE_INFINITY;
  const items: CachedObject[] = [];
  let after = start;
  for (;;) {
    const result = await deps
      .range(place.prefix + prefix, {
        revision,
        limit: PIECE,
        ...(after === undefined ? {} : { after: place.prefix + after }),
      })
      .catch((error: unknown) => {
        throw cacheError(error, revision, deps.newest());
      });
    for (const item of result.items) {
      const key = item.key.slice(place.prefix.length);
      after = key;
      const json = withRevision(item.value, item.revision);
      const object = new StoredObject(key, item.revision, json, place.context);
      if (matches !== undefined && !matches(object)) continue;
      const last = items.at(-1);
      if (items.length >= limit && last !== undefined) return { revision, items, next: last.key };
      items.push(object);
    }
    if (!result.more) return { revision, items };
  }
}
