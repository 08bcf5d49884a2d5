/** Follows a runtime's events for as long as the agent runs: CRI `GetContainerEvents` where the runtime has it,
 *  containerd's own service where it has not, and again after each reconnect. */
import { createBackoff } from '#api/kit/backoff.ts';
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
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
  /** Ends the iteration, without an error. */
  readonly signal: AbortSignal;
}

/** Time limit of the call that makes sure the subscription was taken in, in ms. */
const BARRIER_TIMEOUT_MS = 10_000;

const RETRY = { initialMs: 100, maxMs: 5000, resetAfterMs: 30_000 };

type Source = (connection: CriConnection, signal: AbortSignal) => AsyncGenerator<ContainerRuntimeEvent>;

const SOURCES: readonly (readonly [name: string, open: Source])[] = [
  ['CRI', criEvents],
  ['containerd', containerdEvents],
];

/** All events from now on. The first is a `resync` (or `unsupported`), and so is the first after each reconnect.
 *  The iteration ends only when `signal` fires; while the runtime is away nothing comes. */
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

/** Yields the events of the first source that the runtime has, and throws when it ends. Returns if there is none. */
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
      deps.log.debug({ source }, 'Runtime does not send events this way');
    }
  }
}

/** One subscription: a `resync` once it stands, then its events. */
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
    // A failure shows when it is awaited below.
    first.catch(() => undefined);
    // A server says nothing when it takes in a subscription. A call sent after it and answered puts a list
    // made after the `resync` behind the subscription too, and lets a refusal arrive.
    await turnOfLoop();
    await Promise.race([first, connection.runtime.version({}, { signal, timeoutMs: BARRIER_TIMEOUT_MS })]);
    await Promise.race([first, turnOfLoop()]);
    yield { kind: 'resync' };
    for (let next = await first; next.done !== true; next = await events.next()) yield next.value;
  } finally {
    stop.abort(new Error('event stream closed'));
  }
}

/** Lets what is on its way through promises and ticks go out or come in. */
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
