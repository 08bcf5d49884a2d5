/** Waits for the decision on a certificate request. */
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError, ServerUnreachableError } from '../api-client/errors.ts';
import type { WatchEvent } from '../api-client/watch-events.ts';
import { type RequestState, readSigningRequest, requestsAddress } from './signing-request.ts';

export interface IssueDeps {
  readonly api: Pick<ApiClient, 'create' | 'get' | 'list' | 'watch'>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly vocabulary: Vocabulary;
  /** Registers waits for the approval of requests. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
  /** Called with a request that needs approval. */
  readonly onWaiting?: (request: string) => void;
}

export type SettledRequest =
  | Extract<RequestState, { readonly kind: 'denied' | 'failed' | 'issued' }>
  | { readonly kind: 'gone' };

type Progress = RequestState | { readonly kind: 'gone' };

const RETRY = { initialMs: 500, maxMs: 30_000, jitter: 0.2 };

/** Requested watch timeout, and the tolerance beyond it. */
const WATCH_SECONDS = 300;
const GRACE_SECONDS = 30;

const isSettled = (state: Progress): state is SettledRequest =>
  state.kind !== 'pending' && state.kind !== 'approved';

const isGone = (state: Progress): state is SettledRequest => state.kind === 'gone';

/** Resolves to the final state of the request. @throws permanent API errors */
export async function followRequest(
  deps: IssueDeps,
  name: string,
  signal: AbortSignal,
): Promise<SettledRequest> {
  let isReported = false;
  const inspect = (state: Progress): SettledRequest | undefined => {
    if (isSettled(state)) return state;
    if (state.kind === 'pending' && !isReported) {
      isReported = true;
      deps.log.info({ request: name }, 'Certificate request awaiting approval');
      deps.onWaiting?.(name);
    }
    return undefined;
  };
  const settled = follow(deps, name, inspect, signal);
  const what = `certificate request ${name} to be approved and signed`;
  return await (deps.waits?.during(what, settled) ?? settled);
}

/** Resolves when an administrator or the garbage collection of the server has deleted the request. */
export async function awaitRemoval(deps: IssueDeps, name: string, signal: AbortSignal): Promise<void> {
  await follow(deps, name, (state) => (isGone(state) ? state : undefined), signal);
}

/** Aborts a watch that the server should have ended: the connection may have failed silently. */
function silenceLimit(clock: Clock): { readonly signal: AbortSignal; readonly cancel: () => void } {
  const limit = new AbortController();
  const timer = clock.setTimer(
    () => limit.abort(new ServerUnreachableError('the server did not end the watch in time')),
    (WATCH_SECONDS + GRACE_SECONDS) * 1000,
  );
  return { signal: limit.signal, cancel: () => timer.cancel() };
}

/** Passes every state of the request to `inspect` until it returns a result. */
async function follow<T>(
  { api, clock, log, vocabulary }: IssueDeps,
  name: string,
  inspect: (state: Progress) => T | undefined,
  signal: AbortSignal,
): Promise<T> {
  const backoff = createBackoff(RETRY);
  const address = requestsAddress(vocabulary);
  const query = { fieldSelector: `metadata.name=${name}` };
  for (;;) {
    try {
      const { state, resourceVersion } = readList(await api.list(address, signal, query), name);
      const found = inspect(state);
      if (found !== undefined) return found;
      const limit = silenceLimit(clock);
      try {
        const until = AbortSignal.any([signal, limit.signal]);
        const asked = { ...query, resourceVersion, timeoutSeconds: WATCH_SECONDS };
        for await (const event of api.watch(address, until, asked)) {
          const then = eventState(event, name);
          const seen = then === undefined ? undefined : inspect(then);
          if (seen !== undefined) return seen;
        }
      } finally {
        limit.cancel();
      }
    } catch (thrown) {
      signal.throwIfAborted();
      if (!isPassing(thrown)) throw thrown;
      log.debug({ err: asError(thrown), request: name }, 'Failed to watch certificate request');
    }
    await sleep(clock, backoff.fail(name, clock.now()), signal);
  }
}

const isPassing = (thrown: unknown): boolean => {
  if (thrown instanceof ApiRequestError) return thrown.retryable || thrown.status === 410;
  return thrown instanceof Error && 'retryable' in thrown && thrown.retryable === true;
};

function readList(
  list: Json,
  name: string,
): { readonly state: Progress; readonly resourceVersion: string | undefined } {
  const items: readonly unknown[] = Array.isArray(list['items']) ? list['items'] : [];
  const requests = items
    .filter((item) => typeof item === 'object' && item !== null)
    .map((item) => readSigningRequest({ ...item }));
  const meta: unknown = list['metadata'];
  const version: unknown =
    typeof meta === 'object' && meta !== null && 'resourceVersion' in meta ? meta.resourceVersion : undefined;
  return {
    state: requests.find((request) => request.name === name)?.state ?? { kind: 'gone' },
    resourceVersion: typeof version === 'string' ? version : undefined,
  };
}

function eventState({ type, object }: WatchEvent, name: string): Progress | undefined {
  if (type === 'BOOKMARK') return undefined;
  const request = readSigningRequest(object);
  if (request.name !== name) return undefined;
  return type === 'DELETED' ? { kind: 'gone' } : request.state;
}
