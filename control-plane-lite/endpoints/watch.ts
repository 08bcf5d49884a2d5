/** watch: a stream of changes, after the initial state or from a revision. Source: watch, document 1 §4.5 and
 *  §4.6. */
import { secondsInMs } from '#api/kit/int64.ts';
import { type ByteSink, CacheError, type Watch, type WatchOptions } from '../cache/contract.ts';
import { watchStatusOf } from '../cache/list/list-errors.ts';
import { decideWatch, type WatchDecision } from '../cache/list/list-semantics.ts';
import type { ApiRequest, ApiResponse, StreamSink } from '../http/contract.ts';
import type { Resource } from '../resources/contract.ts';
import type { EndpointDeps } from './deps.ts';
import { cacheOf, checkFields, reach, stateRequest } from './read.ts';
import { booleanParameter, integerParameter, parseSelectors } from './read-request.ts';

export async function watchEndpoint(
  deps: EndpointDeps,
  request: ApiRequest,
  resource: Resource,
): Promise<ApiResponse> {
  const { info, query } = request;
  const bookmarks = booleanParameter(query, 'allowWatchBookmarks');
  const state = { ...stateRequest(query), allowWatchBookmarks: bookmarks };
  const decision = decideWatch(state, deps.vocabulary.apiGroupDomain);
  const watching = deps.content.watching(request, resource);
  const selectors = parseSelectors(query);
  checkFields(resource, selectors.fields);
  // The selector of a watch across namespaces may name an object, which can exist in each of them.
  const across = resource.info.namespaced && info.namespace === '';
  const options: WatchOptions = {
    ...selectors,
    ...(info.namespace === '' || !resource.info.namespaced ? {} : { namespace: info.namespace }),
    ...(info.name === '' || across ? {} : { name: info.name }),
    start: await startOf(deps, decision),
    bookmarks,
    markInitialEnd: decision.kind === 'state' && decision.markInitialEnd,
  };
  // If the client has already left, nothing would stop the watch.
  request.signal.throwIfAborted();
  const relay = createRelay(
    (reason) => watching.error(endStatus(reason, deps.cache.revision)),
    () => request.initialized?.(),
  );
  const handle = beginWatch(
    () =>
      cacheOf(deps, resource).watch(options, watching.encoder, watching.pass?.(relay.source) ?? relay.source),
    deps,
    (status) => relay.fail(watching.error(status)),
  );
  const timer = deps.clock.setTimer(end, timeoutOf(query, deps.watchTimeoutMs));
  function close(): void {
    timer.cancel();
    resource.retired?.removeEventListener('abort', end);
    handle.close();
  }
  function end(): void {
    timer.cancel();
    resource.retired?.removeEventListener('abort', end);
    handle.finish();
    relay.end();
  }
  request.signal.addEventListener('abort', end, { once: true });
  // Later events have another format: the client must relist.
  resource.retired?.addEventListener('abort', end, { once: true });
  return {
    kind: 'stream',
    contentType: watching.contentType,
    // Compressing a secret together with attacker-controlled data leaks it through the length (CRIME,
    // BREACH).
    compressible: !isSecret(resource),
    webSocket: { binary: watching.binary },
    start(sink) {
      relay.attach(sink);
      return close;
    },
  };
}

const isSecret = ({ info }: Resource): boolean => info.group === '' && info.plural === 'secrets';

function timeoutOf(query: URLSearchParams, minimumMs: number): number {
  const seconds = integerParameter(query, 'timeoutSeconds') ?? 0;
  return seconds > 0 ? secondsInMs(seconds) : minimumMs * (1 + Math.random());
}

const OVER: Watch = { close: () => undefined, finish: () => undefined };

/** Starts the watch. An expired revision is reported within the stream, as upstream's watch cache does,
 *  because clients expect it there. Any other error is thrown instead of starting the stream.
 *  @throws StatusError ServiceUnavailable */
function beginWatch(begin: () => Watch, { cache }: EndpointDeps, onExpired: (status: object) => void): Watch {
  try {
    return begin();
  } catch (thrown) {
    if (!(thrown instanceof CacheError)) throw thrown;
    const status = watchStatusOf(thrown, cache.revision);
    if (thrown.reason !== 'expired') throw status;
    onExpired(status.toStatus());
    return OVER;
  }
}

interface Relay {
  readonly source: ByteSink;
  attach(sink: StreamSink): void;
  end(): void;
  /** Ends with a final event. */
  fail(event: Buffer): void;
}

/** Buffers events that arrive before the response has started. */
function createRelay(
  errorEvent: (reason: 'expired' | 'unavailable') => Buffer,
  initialized: () => void,
): Relay {
  const held: Buffer[] = [];
  let target: StreamSink | undefined;
  let ended = false;
  const write = (bytes: Buffer, readers?: number): void => {
    if (target === undefined) held.push(bytes);
    else target.write(bytes, readers);
  };
  const end = (): void => {
    ended = true;
    target?.end();
  };
  const fail = (event: Buffer): void => {
    write(event);
    end();
  };
  return {
    source: {
      write,
      initialized,
      end: (reason) => fail(errorEvent(reason)),
      drained: () => target?.drained?.(),
    },
    attach(sink) {
      target = sink;
      for (const bytes of held.splice(0)) sink.write(bytes);
      if (ended) sink.end();
    },
    end,
    fail,
  };
}

function endStatus(reason: 'expired' | 'unavailable', revision: number): object {
  const message = reason === 'expired' ? 'The resource version is too old' : 'The store is not available';
  return watchStatusOf(new CacheError(reason, message, revision), revision).toStatus();
}

async function startOf(deps: EndpointDeps, decision: WatchDecision): Promise<WatchOptions['start']> {
  if (decision.kind === 'revision') return { kind: 'revision', revision: decision.revision };
  await reach(deps, decision.at);
  return decision.kind === 'state' ? { kind: 'state' } : { kind: 'revision', revision: deps.cache.revision };
}
