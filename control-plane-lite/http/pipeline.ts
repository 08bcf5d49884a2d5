/** The way of every request: authenticate, take on another identity, wait for a seat, authorize, route, handle,
 *  answer. The same for HTTP/1.1, HTTP/2 and upgrades: nothing is written to a connection, and no byte of an upgraded
 *  one is passed on, before the request was let through. Source: document 2, introduction; document 1, 7. */
import { asError } from '#api/kit/clock.ts';
import { createTransientSet } from '#api/kit/transient.ts';
import { type AnswerDeps, answer, answerFailure } from './answer.ts';
import type { ApiResponse } from './contract.ts';
import { ClientGoneError, type Exchange } from './exchange.ts';
import { type HandleDeps, handle } from './handle.ts';
import { closeRecord, createPassage, endPassage, openRecord, type Passage } from './passage.ts';
import { auditId } from './request-id.ts';
import { parseRequestInfo, splitTarget } from './request-info.ts';
import { RequestState } from './request-state.ts';
import { shuttingDown, timedOut } from './status-response.ts';
import { isLongRunning, requestTimeoutMs } from './timeouts.ts';

export type PipelineDeps = HandleDeps & AnswerDeps;

export interface PipelineOptions {
  readonly requestTimeoutMs: number;
  readonly bodyLimitBytes: number;
}

export interface Pipeline {
  serve(exchange: Exchange): void;
  /** Requests not yet answered to their end. */
  readonly active: number;
  /** Resolves when no request is left. */
  whenIdle(): Promise<void>;
  /** Gives up what is under way: everything, or what has no end of its own. */
  abort(which: 'all' | 'longRunning'): void;
}

/** Reads what is asked; returns how long it may take.
 *  @throws StatusError BadRequest */
function readTarget(passage: Passage, longestMs: number): number {
  const { state } = passage;
  const { path, query } = splitTarget(state.exchange.target);
  const parsed = query === '' ? undefined : new URLSearchParams(query);
  state.setQuery(parsed);
  state.info = parseRequestInfo(state.method, path, parsed);
  passage.long = isLongRunning(state.info);
  return passage.long ? Number.POSITIVE_INFINITY : requestTimeoutMs(parsed, longestMs);
}

export function createPipeline(deps: PipelineDeps, options: PipelineOptions): Pipeline {
  const { clock, inFlight, metrics, log } = deps;
  const passages = createTransientSet<Passage>();
  let onIdle: (() => void)[] = [];

  /** The handler's answer, unless time is up or the client leaves before. */
  async function withinTime(passage: Passage, ms: number): Promise<ApiResponse> {
    const { state } = passage;
    const timer = Number.isFinite(ms) ? clock.setTimer(() => state.abort(timedOut()), ms) : undefined;
    const givenUp = new Promise<never>((_resolve, reject) => state.onAbort(reject));
    try {
      return await Promise.race([handle(deps, passage), givenUp]);
    } finally {
      timer?.cancel();
      // Of a request that ended before it was known whose it is as well.
      openRecord(passage, deps.audit);
    }
  }

  async function run(passage: Passage): Promise<void> {
    try {
      const ms = readTarget(passage, options.requestTimeoutMs);
      if (passage.long) passage.endLong = metrics.longRunning(passage.state);
      await answer(deps, passage, await withinTime(passage, ms));
    } catch (thrown) {
      const error = asError(thrown);
      // Whatever was begun for an answer that will not be given hears of it.
      passage.state.abort(error);
      await answerFailure(deps, passage, error);
    } finally {
      closeRecord(passage, undefined);
    }
  }

  function finish(passage: Passage): void {
    const { state } = passage;
    passages.delete(passage);
    endPassage(passage, inFlight);
    passage.endLong?.();
    metrics.finished(state, (clock.monotonic() - state.startedMs) / 1000);
    if (passages.size > 0 || onIdle.length === 0) return;
    for (const resolve of onIdle) resolve();
    onIdle = [];
  }

  function serve(exchange: Exchange): void {
    const state = new RequestState({
      id: auditId(exchange.headers['audit-id']),
      exchange,
      receivedMs: clock.now(),
      startedMs: clock.monotonic(),
      bodyLimitBytes: options.bodyLimitBytes,
    });
    const passage = createPassage(state);
    passages.add(passage);
    exchange.onClose(() => {
      if (!passage.finished) state.abort(new ClientGoneError());
    });
    run(passage).then(
      () => finish(passage),
      (error: unknown) => {
        log.error({ err: asError(error), auditID: state.id }, 'Answering failed');
        exchange.destroy();
        state.abort(asError(error));
        finish(passage);
      },
    );
  }

  return {
    serve,
    get active() {
      return passages.size;
    },
    whenIdle: () =>
      passages.size === 0 ? Promise.resolve() : new Promise((resolve) => void onIdle.push(resolve)),
    abort(which) {
      for (const { state, long } of passages.values())
        if (long || which === 'all') state.abort(shuttingDown());
    },
  };
}
