/** Keeps the runtime view true: listens to the runtime's events, and relists now and then in case one was lost.
 *  An event is a fact at once; the runtime's own status follows some 50 ms later and adds reason and message. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ContainerRuntimeEvent, RuntimeEvent } from '#cri/client/runtime-event.ts';
import { type RelistDeps, relist } from './relist.ts';
import { OOM_KILLED } from './runtime-view.ts';

export interface ObserverDeps extends RelistDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Yields `resync` first and after every reconnect; ends when the runtime has no events or `signal` fires. */
  readonly events: (signal: AbortSignal) => AsyncIterable<RuntimeEvent>;
}

export interface Observer {
  /** Reads everything once. @throws CriError when the runtime is away */
  relist(signal: AbortSignal): Promise<void>;
  /** Asks the runtime for one container's status and notes it. Never rejects. */
  refreshContainer(id: string): Promise<void>;
  /** Follows events and relists until `signal` fires. Never rejects. */
  run(signal: AbortSignal): Promise<void>;
}

/** With events, a relist is only the safety net; without, it is how changes are seen at all. */
const RELIST_WITH_EVENTS_MS = 60_000;
const RELIST_WITHOUT_EVENTS_MS = 1_000;
const RESUBSCRIBE_MS = 1_000;
/** After an exit event the runtime's status takes about this long to follow. */
const STATUS_LAG_MS = 150;

export function createObserver(deps: ObserverDeps): Observer {
  const { view, statuses, clock, log } = deps;
  let hasEvents = true;

  async function refreshContainer(id: string): Promise<void> {
    try {
      const seen = await statuses.container(id, view.container(id));
      if (seen === undefined) view.forgetContainer(id);
      else view.noteContainer(seen);
    } catch (err) {
      log.warn({ err, containerID: id }, 'Container status could not be read');
    }
  }

  async function follow(signal: AbortSignal): Promise<void> {
    for await (const event of deps.events(signal)) {
      if (event.kind === 'resync') {
        hasEvents = true;
        await relist(deps, signal);
      } else if (event.kind === 'unsupported') hasEvents = false;
      else apply(deps, event, refreshContainer);
    }
  }

  async function repeat(
    task: (signal: AbortSignal) => Promise<void>,
    pauseMs: () => number,
    signal: AbortSignal,
  ): Promise<void> {
    while (!signal.aborted) {
      await task(signal).catch((err: unknown) => {
        if (!signal.aborted) log.warn({ err }, 'Runtime could not be observed; trying again');
      });
      await sleep(clock, pauseMs(), signal).catch(() => undefined);
    }
  }

  return {
    relist: (signal) => relist(deps, signal),
    refreshContainer,
    async run(signal) {
      const relistPause = (): number => (hasEvents ? RELIST_WITH_EVENTS_MS : RELIST_WITHOUT_EVENTS_MS);
      const followPause = (): number => (hasEvents ? RESUBSCRIBE_MS : RELIST_WITH_EVENTS_MS);
      await Promise.all([
        repeat(follow, followPause, signal),
        repeat((inner) => relist(deps, inner), relistPause, signal),
      ]);
    },
  };
}

function apply(
  { view, clock }: ObserverDeps,
  event: ContainerRuntimeEvent,
  refreshContainer: (id: string) => Promise<void>,
): void {
  const id = event.containerId;
  const container = view.container(id);
  const sandbox = view.sandbox(id);
  switch (event.kind) {
    case 'stopped':
      if (sandbox !== undefined) view.noteSandbox({ ...sandbox, ready: false });
      if (container === undefined || container.state === 'exited') return;
      if (event.exitCode !== undefined) {
        const finishedAtMs = event.exitedAtMs ?? clock.now();
        // A short life may be over before its start was noted.
        const startedAtMs = container.startedAtMs || container.createdAtMs;
        const { exitCode } = event;
        view.noteContainer({ ...container, state: 'exited', exitCode, startedAtMs, finishedAtMs });
      }
      clock.setTimer(() => void refreshContainer(id), event.exitCode === undefined ? 0 : STATUS_LAG_MS);
      return;
    case 'oom':
      if (container !== undefined) view.noteContainer({ ...container, reason: OOM_KILLED });
      return;
    case 'deleted':
      view.forgetContainer(id);
      view.forgetSandbox(id);
      return;
    case 'created':
    case 'started':
      // Made by this agent's own actions, which note them with all they know.
      return;
    default:
      event.kind satisfies never;
  }
}
