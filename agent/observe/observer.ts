/** Keeps the runtime view true: listens to the runtime's events, and relists now and then in case one was lost.
 *  An event is a fact at once; the runtime's own status follows some 50 ms later and adds reason and message. */
import { type Clock, sleep, type Timer } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { RuntimeEvent } from '#cri/client/runtime-event.ts';
import { applyEvent } from './apply-event.ts';
import { type RelistDeps, relist } from './relist.ts';
import { settled } from './types.ts';

export interface ObserverDeps extends RelistDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Yields `resync` first and after every reconnect; ends when the runtime has no events or `signal` fires. */
  readonly events: (signal: AbortSignal) => AsyncIterable<RuntimeEvent>;
}

export interface Observer {
  /** Reads everything once; calls that come while one waits for its turn share it.
   *  @throws CriError when the runtime is away */
  relist(signal?: AbortSignal): Promise<void>;
  /** Asks the runtime for one container's status and notes it. Resolves with whether the container is over.
   *  Never rejects. */
  refreshContainer(id: string): Promise<boolean>;
  /** Follows events and relists until `signal` fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** With events, a relist is only the safety net; without, it is how changes are seen at all. The net is needed:
 *  containerd's shim may end before it has sent its last events, which was seen on a machine short of time. */
const RELIST_WITH_EVENTS_MS = 10_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
const RESUBSCRIBE_MS = 1_000;

export function createObserver(deps: ObserverDeps): Observer {
  const { view, statuses, clock, log } = deps;
  let hasEvents = false;

  async function refreshContainer(id: string): Promise<boolean> {
    try {
      const seen = await statuses.container(id, view.container(id));
      if (seen === undefined) view.forgetContainer(id);
      else view.noteContainer(seen);
      return seen === undefined || seen.state === 'exited';
    } catch (err) {
      log.warn({ err, containerID: id }, 'Container status could not be read');
      return false;
    }
  }

  async function settleContainer(id: string): Promise<void> {
    const container = view.container(id);
    if (container?.isProvisional !== true) return;
    const message = await statuses.lastWords(container);
    // It may have been completed meanwhile.
    const now = view.container(id);
    if (now?.isProvisional === true) view.noteContainer(settled(now, message));
  }

  const relistInTurn = oneAfterTheOther((signal) => relist(deps, signal));

  function relistAsked(): void {
    relistInTurn().catch((err: unknown) => log.debug({ err }, 'Relist after an unknown event failed'));
  }

  const relistLoop = createLoop({
    clock,
    retryMs: RELIST_WITHOUT_EVENTS_MS,
    onError: (err) => log.warn({ err }, 'Runtime could not be listed; trying again'),
    async step(signal) {
      await relistInTurn(signal);
      return clock.now() + (hasEvents ? RELIST_WITH_EVENTS_MS : RELIST_WITHOUT_EVENTS_MS);
    },
  });

  async function follow(signal: AbortSignal): Promise<void> {
    const eventDeps = {
      view,
      now: () => clock.now(),
      later: timersUntil(clock, signal),
      refreshContainer,
      settleContainer,
      relist: relistAsked,
    };
    for await (const event of deps.events(signal)) {
      if (event.kind === 'resync') {
        hasEvents = true;
        await relistInTurn(signal);
      } else if (event.kind === 'unsupported') {
        hasEvents = false;
        relistLoop.wake();
      } else applyEvent(eventDeps, event);
    }
  }

  async function followForever(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await follow(signal).catch((err: unknown) => {
        if (!signal.aborted) log.warn({ err }, 'Runtime could not be observed; trying again');
      });
      await sleep(clock, RESUBSCRIBE_MS, signal).catch(() => undefined);
    }
  }

  return {
    relist: relistInTurn,
    refreshContainer,
    async run(signal) {
      relistLoop.wake();
      await Promise.all([followForever(signal), relistLoop.run(signal)]);
    },
  };
}

/** Never two at once, since the older answer could bring back what the newer one saw gone. A call that comes
 *  while another one waits for its turn gets that one's result. */
function oneAfterTheOther(
  task: (signal: AbortSignal) => Promise<void>,
): (signal?: AbortSignal) => Promise<void> {
  let underWay: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  return (signal = new AbortController().signal) => {
    if (next !== undefined) return next;
    const before = underWay;
    const mine = (async () => {
      await before;
      next = undefined;
      await task(signal);
    })();
    next = mine;
    underWay = mine.catch(() => undefined);
    return mine;
  };
}

/** Timers that are gone when the signal fires. */
function timersUntil(clock: Clock, signal: AbortSignal): (task: () => void, delayMs: number) => void {
  const timers = new Set<Timer>();
  const cancelAll = (): void => {
    for (const timer of timers) timer.cancel();
  };
  signal.addEventListener('abort', cancelAll, { once: true });
  return (task, delayMs) => {
    const timer = clock.setTimer(() => {
      timers.delete(timer);
      task();
    }, delayMs);
    timers.add(timer);
  };
}
