/** Watches one object as long as some pod references it. Stops watching an immutable object. */
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { resourceVersionOf } from '../api-client/object-fields.ts';
import { runReflector } from '../api-client/watch/reflector.ts';
import { addressOfObject } from './object-address.ts';
import type { ObjectKey } from './references.ts';

export interface WatchedObjectDeps {
  readonly client: Pick<ApiClient, 'list' | 'watch'>;
  readonly onReturn?: (listener: () => void) => () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

export type WatchedState =
  /** `object` is undefined when it does not exist. */
  | { readonly kind: 'known'; readonly object: Json | undefined }
  /** The server is unavailable, or did not respond in time. */
  | { readonly kind: 'unknown' };

export interface WatchedObject {
  /** Returns the known state, once the server has been queried for the first time. */
  current(): Promise<WatchedState>;
  stop(): void;
}

/** Maximum wait for the first response. */
const FIRST_ANSWER_MS = 5_000;

/** @param changed called with each new state, including the first */
export function createWatchedObject(
  deps: WatchedObjectDeps,
  key: ObjectKey,
  changed: (object: Json | undefined) => void,
): WatchedObject {
  const stop = new AbortController();
  const first = Promise.withResolvers<void>();
  let state: WatchedState = { kind: 'unknown' };

  function take(object: Json | undefined): void {
    const before = state;
    state = { kind: 'known', object };
    first.resolve();
    const same =
      before.kind === 'known' &&
      before.object !== undefined &&
      object !== undefined &&
      resourceVersionOf(before.object) === resourceVersionOf(object);
    if (!same) changed(object);
    if (object?.['immutable'] === true) stop.abort(new Error('it is immutable'));
  }

  const { name: _, ...address } = addressOfObject(key);
  void runReflector(
    deps,
    { address, fieldSelector: `metadata.name=${key.name}` },
    {
      replace: (objects) => take(objects[0]),
      change: ({ type, object }) => take(type === 'DELETED' ? undefined : object),
      // Waiting callers are notified immediately.
      away: () => first.resolve(),
    },
    stop.signal,
  );

  return {
    async current() {
      if (state.kind === 'unknown') {
        const late = deps.clock.setTimer(first.resolve, FIRST_ANSWER_MS);
        await first.promise;
        late.cancel();
      }
      return state;
    },
    stop() {
      stop.abort(new Error('it is not referenced any more'));
      first.resolve();
    },
  };
}
