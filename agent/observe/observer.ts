/** Observer: maintains the runtime view. Follows runtime events, and relists periodically in case an event was
 *  lost. An event counts immediately; the runtime's own status follows some 50 ms later and adds reason and
 *  message. */
import { type Clock, sleep, type Timer } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createLoop } from '#api/kit/loop.ts';
import type { ContainerRuntimeEvent, RuntimeEvent } from '#cri/client/runtime-event.ts';
import { type RelistDeps, relist } from './read.ts';
import type { RuntimeView } from './runtime-view.ts';
import { settled } from './types.ts';

export interface ObserverDeps extends RelistDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Yields `resync` first and after every reconnect; ends when the runtime supports no events or `signal`
   *  fires. */
  readonly events: (signal: AbortSignal) => AsyncIterable<RuntimeEvent>;
  /** Called after each successful listing.
   *  @param sinceLastMs time since the one before began; undefined for the first */
  readonly relisted?: (durationMs: number, sinceLastMs: number | undefined) => void;
}

export interface Observer {
  /** Reads everything once; calls that arrive while one is queued share it.
   *  @throws CriError when the runtime is unavailable */
  relist(signal?: AbortSignal): Promise<void>;
  /** Queries and records the status of one container. Resolves with whether the container has exited. Never
   *  rejects. */
  refreshContainer(id: string): Promise<boolean>;
  /** Follows events and relists until `signal` fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** With events, relists are only a fallback; without, they are the only source of changes. The fallback is
 *  needed: on a busy machine containerd's shim may exit before it has sent its last events. */
const RELIST_WITH_EVENTS_MS = 10_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
const RESUBSCRIBE_MS = 1_000;

/** Delay after which the runtime's status usually follows an exit event; the exit is published only then. */
const STATUS_LAG_MS = 75;
/** On a busy machine it takes longer; the delay between two queries doubles up to this. */
const LONGEST_STATUS_LAG_MS = 10_000;
/** By then this agent's own calls have recorded what they created: what is still unknown was created by a
 *  call whose response was lost, for instance because the agent died. */
const OWN_CALL_MS = 3_000;

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
      log.warn({ err, containerID: id }, 'Failed to read container status');
      return false;
    }
  }

  async function settleContainer(id: string): Promise<void> {
    const container = view.container(id);
    if (container?.isProvisional !== true) return;
    const message = await statuses.terminationMessage(container);
    // It may have been completed meanwhile.
    const now = view.container(id);
    if (now?.isProvisional === true) view.noteContainer(settled(now, message));
  }

  let lastBeganMs: number | undefined;
  const relistInTurn = oneAfterTheOther(async (signal) => {
    const beganMs = clock.monotonic();
    const sinceLastMs = lastBeganMs === undefined ? undefined : beganMs - lastBeganMs;
    lastBeganMs = beganMs;
    await relist(deps, signal);
    deps.relisted?.(clock.monotonic() - beganMs, sinceLastMs);
  });

  function requestRelist(): void {
    relistInTurn().catch((err: unknown) => log.debug({ err }, 'Failed to relist after an unknown event'));
  }

  const relistLoop = createLoop({
    clock,
    retryMs: RELIST_WITHOUT_EVENTS_MS,
    onError: (err) => log.warn({ err }, 'Failed to list runtime; retrying'),
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
      relist: requestRelist,
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
        if (!signal.aborted) log.warn({ err }, 'Failed to observe runtime; retrying');
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

/** Serializes the task, since an older response could restore objects that a newer one has removed. A call
 *  that arrives while another one is queued shares its result. */
function oneAfterTheOther(
  task: (signal: AbortSignal) => Promise<void>,
): (signal?: AbortSignal) => Promise<void> {
  let inFlight: Promise<unknown> = Promise.resolve();
  let next: Promise<void> | undefined;
  return (signal = new AbortController().signal) => {
    if (next !== undefined) return next;
    const before = inFlight;
    const mine = (async () => {
      await before;
      next = undefined;
      await task(signal);
    })();
    next = mine;
    inFlight = mine.catch(() => undefined);
    return mine;
  };
}

/** Timers that are cancelled when the signal fires. */
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

export interface ApplyEventDeps {
  readonly view: RuntimeView;
  readonly now: () => number;
  /** Runs the task after that time (ms), unless observation has stopped by then. */
  readonly later: (task: () => void | Promise<void>, delayMs: number) => void;
  /** Resolves with whether the runtime itself reports that the container has exited. Never rejects. */
  readonly refreshContainer: (id: string) => Promise<boolean>;
  /** Completes the exit state of a container without the runtime. Never rejects. */
  readonly settleContainer: (id: string) => Promise<void>;
  readonly relist: () => void;
}

export function applyEvent(deps: ApplyEventDeps, event: ContainerRuntimeEvent): void {
  const { view, later, refreshContainer } = deps;
  const id = event.containerId;
  switch (event.kind) {
    case 'stopped':
      return applyStop(deps, event);
    case 'oom':
      return view.tellOom(id);
    case 'deleted':
      view.forgetContainer(id);
      view.forgetSandbox(id);
      return;
    case 'created':
    case 'started':
      later(() => {
        if (view.container(id)?.state === 'created') void refreshContainer(id);
        else if (view.container(id) === undefined && view.sandbox(id) === undefined) deps.relist();
      }, OWN_CALL_MS);
      return;
    default:
      event.kind satisfies never;
  }
}

function applyStop(
  deps: ApplyEventDeps,
  event: Extract<ContainerRuntimeEvent, { containerId: string }>,
): void {
  const { view, now } = deps;
  const id = event.containerId;
  const container = view.container(id);
  const sandbox = view.sandbox(id);
  if (sandbox !== undefined) {
    view.noteSandbox({ ...sandbox, ready: false });
    // Its containers have exited as well, whether or not their own events arrive.
    for (const inside of view.pod(sandbox.podUID).containers) {
      if (inside.sandboxId === id && inside.state === 'running') learnEnd(deps, inside.id, STATUS_LAG_MS);
    }
  }
  if (container === undefined || container.state === 'exited') return;
  if (event.exitCode !== undefined) {
    const finishedAtMs = event.exitedAtMs ?? now();
    // A short-lived container may exit before its start was recorded.
    const startedAtMs = container.startedAtMs || container.createdAtMs;
    const { exitCode } = event;
    const end = { state: 'exited', exitCode, startedAtMs, finishedAtMs, isProvisional: true } as const;
    view.noteContainer({ ...container, ...end });
  }
  learnEnd(deps, id, event.exitCode === undefined ? 0 : STATUS_LAG_MS);
}

/** Queries until the runtime's status has followed the event: it contains the reason, and the termination
 *  message is read with it. A runtime that never follows has nothing to add. */
function learnEnd(deps: ApplyEventDeps, id: string, delayMs: number): void {
  deps.later(async () => {
    const isOver = await deps.refreshContainer(id);
    const nextMs = Math.max(delayMs * 2, STATUS_LAG_MS);
    if (isOver) return;
    if (nextMs <= LONGEST_STATUS_LAG_MS) learnEnd(deps, id, nextMs);
    else await deps.settleContainer(id);
  }, delayMs);
}
