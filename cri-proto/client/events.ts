/** Event stream of a runtime for the lifetime of the agent: CRI `GetContainerEvents` if supported, otherwise
 *  containerd's own service. Subscribes again after each reconnect. */
import { createBackoff } from '#api/kit/backoff.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isUnimplemented } from '../errors.ts';
import { untilState } from './channel-state.ts';
import type { CriConnection } from './connection.ts';
import { watchContainerdEvents } from './containerd-events.ts';
import {
  type ContainerRuntimeEvent,
  fromContainerdEvent,
  fromCriEvent,
  type RuntimeEvent,
} from './runtime-event.ts';

export interface WatchEventsDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Ends the iteration without an error. */
  readonly signal: AbortSignal;
}

/** Timeout of the call that confirms the subscription, in ms. */
const BARRIER_TIMEOUT_MS = 10_000;

const RETRY = { initialMs: 100, maxMs: 5000, resetAfterMs: 30_000 };

type Source = (connection: CriConnection, signal: AbortSignal) => AsyncGenerator<ContainerRuntimeEvent>;

const SOURCES: readonly (readonly [name: string, open: Source])[] = [
  ['CRI', criEvents],
  ['containerd', containerdEvents],
];

/** Yields all events from now on. The first one is a `resync` (or `unsupported`), as is the first one after
 *  each reconnect.
 *  The iteration ends only when `signal` fires; nothing is yielded while the runtime is unavailable. */
export async function* watchRuntimeEvents(
  connection: CriConnection,
  deps: WatchEventsDeps,
): AsyncGenerator<RuntimeEvent, void, undefined> {
  const { clock, signal, log } = deps;
  const backoff = createBackoff(RETRY);
  while (!signal.aborted) {
    try {
      await connection.whenConnected(signal);
      yield* watchSources(connection, deps);
      yield { kind: 'unsupported' };
      await untilState(connection, 'away', signal);
    } catch (thrown) {
      if (signal.aborted) return;
      log.debug({ err: asError(thrown) }, 'Runtime event stream ended');
      await sleep(clock, backoff.fail('', clock.now()), signal).catch(() => undefined);
    }
  }
}

/** Yields the events of the first supported source, and throws when it ends. Returns if there is none. */
async function* watchSources(
  connection: CriConnection,
  deps: WatchEventsDeps,
): AsyncGenerator<RuntimeEvent, void, undefined> {
  for (const [source, open] of SOURCES) {
    try {
      yield* watchSource(connection, deps, open);
      throw new Error(`the runtime ended the stream of ${source} events`);
    } catch (thrown) {
      if (!isUnimplemented(thrown)) throw thrown;
      deps.log.debug({ source }, 'Runtime event source not supported');
    }
  }
}

/** One subscription: a `resync` once it is established, then its events. */
async function* watchSource(
  connection: CriConnection,
  deps: WatchEventsDeps,
  open: Source,
): AsyncGenerator<RuntimeEvent, void, undefined> {
  const stop = new AbortController();
  const signal = AbortSignal.any([deps.signal, stop.signal]);
  const events = open(connection, signal);
  try {
    const first = events.next();
    // A failure is thrown when it is awaited below.
    first.catch(() => undefined);
    // A server does not acknowledge a subscription. The response to a call that is sent after it orders any list
    // made after the `resync` behind the subscription too, and lets a rejection arrive.
    await turnOfLoop();
    await Promise.race([first, connection.runtime.version({}, { signal, timeoutMs: BARRIER_TIMEOUT_MS })]);
    await Promise.race([first, turnOfLoop()]);
    yield { kind: 'resync' };
    for (let next = await first; next.done !== true; next = await events.next()) yield next.value;
  } finally {
    stop.abort(new Error('event stream closed'));
  }
}

/** Yields to the event loop, so that pending promises and I/O complete. */
const turnOfLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function* criEvents(
  connection: CriConnection,
  signal: AbortSignal,
): AsyncGenerator<ContainerRuntimeEvent, void, undefined> {
  for await (const event of connection.runtime.getContainerEvents({}, { signal })) {
    const known = fromCriEvent(event);
    if (known !== undefined) yield known;
  }
}

async function* containerdEvents(
  connection: CriConnection,
  signal: AbortSignal,
): AsyncGenerator<ContainerRuntimeEvent, void, undefined> {
  for await (const event of watchContainerdEvents(connection.channel, signal)) {
    const known = fromContainerdEvent(event);
    if (known !== undefined) yield known;
  }
}
