/** Ends the node's pods in order when the machine shuts down, while the shutdown waits.
 *
 *      lock held ─▶ shutdown begins ─▶ node not ready, no new pods ─▶ a group of pods after the other ─▶ lock given back
 *          ▲                                                                                                │
 *          └──────────────────────── shutdown called off, bus or lock lost ◀────────────────────────────────┘
 *
 *  Source: upstream's node shutdown manager, release 1.24. */
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { type ShutdownGroup, type ShutdownPeriod, shutdownGroups, wholePeriod } from './decide.ts';
import type { Inhibitor } from './inhibitor.ts';
import type { Logind } from './logind.ts';

export interface ShutdownDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Connects with the bus. */
  readonly connect: () => Promise<{
    readonly logind: Logind;
    /** Resolves when the connection is gone. */
    readonly closed: Promise<void>;
    readonly close: () => void;
  }>;
  readonly inhibit: () => Promise<Inhibitor>;
  /** Pods that have not ended. */
  readonly pods: () => readonly Pod[];
  readonly priorityOf: (pod: Pod) => number;
  /** Resolves when the pod has ended. */
  readonly end: (pod: Pod, graceSeconds: number, signal: AbortSignal) => Promise<void>;
  /** Told when a shutdown begins, and when it was called off. */
  readonly told: (shuttingDown: boolean) => void;
  /** Told when the pods have ended, or their time is over. The shutdown waits for it. */
  readonly ended?: () => Promise<void>;
}

/** After a bus or a lock that was lost. Source: upstream's reconnect period. */
const RETRY_MS = 1000;

/** The pods of a group have ended, or their time is over. */
async function endGroup(
  { clock, log, end }: ShutdownDeps,
  { pods, seconds, priority }: ShutdownGroup,
  signal: AbortSignal,
): Promise<void> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  const all = Promise.all(
    pods.map(({ pod, graceSeconds }) =>
      end(pod, graceSeconds, either).catch((err: unknown) => {
        if (!either.aborted)
          log.warn({ err, pod: pod.metadata?.name }, 'Pod could not be ended for the shutdown');
      }),
    ),
  );
  const time = sleep(clock, seconds * 1000, either).then(
    () => {
      log.warn({ priority, seconds }, 'Pods did not end in their time');
      return 'over';
    },
    () => 'ended',
  );
  await Promise.race([all, time]);
  over.abort(new Error('the time of the group is over'));
}

async function endPods(
  deps: ShutdownDeps,
  periods: readonly ShutdownPeriod[],
  signal: AbortSignal,
): Promise<void> {
  for (const group of shutdownGroups(deps.pods(), periods, deps.priorityOf)) {
    if (signal.aborted) return;
    await endGroup(deps, group, signal);
  }
}

async function makeRoom(
  { log }: ShutdownDeps,
  logind: Logind,
  periods: readonly ShutdownPeriod[],
): Promise<void> {
  const seconds = wholePeriod(periods);
  if ((await logind.longestDelayMs()) >= seconds * 1000) return;
  try {
    await logind.allowDelay(seconds);
  } catch (err) {
    log.warn({ err, seconds }, 'Longest delay of a shutdown could not be changed');
  }
  const allowedMs = await logind.longestDelayMs();
  if (allowedMs >= seconds * 1000) return;
  log.warn(
    { seconds, allowedSeconds: allowedMs / 1000, remedy: `set InhibitDelayMaxSec=${seconds} in logind.conf` },
    'A shutdown will not wait for all pods',
  );
}

/** One connection's life. Resolves when it, or the lock, is lost. */
async function session(
  deps: ShutdownDeps,
  periods: readonly ShutdownPeriod[],
  signal: AbortSignal,
): Promise<void> {
  const { log, told } = deps;
  const { logind, closed, close } = await deps.connect();
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  let lock: Inhibitor | undefined;
  try {
    await makeRoom(deps, logind, periods);
    let ending: AbortController | undefined;
    const again = Promise.withResolvers<void>();
    await logind.onShutdown((begins) => {
      log.info({}, begins ? 'Machine shuts down' : 'Shutdown of the machine was called off');
      told(begins);
      if (!begins) {
        ending?.abort(new Error('the shutdown was called off'));
        // With another lock, for the next one.
        return again.resolve();
      }
      ending = new AbortController();
      const either = AbortSignal.any([signal, ending.signal]);
      endPods(deps, periods, either)
        .then(() => (signal.aborted ? undefined : deps.ended?.()))
        .then(() => lock?.release())
        .catch((err: unknown) => log.error({ err }, 'Pods were not ended for the shutdown'));
    });
    lock = await deps.inhibit();
    log.info({ seconds: wholePeriod(periods) }, 'Shutdowns of the machine wait for pods');
    // Given back at a shutdown; otherwise it was lost, and another one is needed.
    const lost = lock.gone.then(() => (ending === undefined ? undefined : again.promise));
    await Promise.race([closed, again.promise, ended, lost]);
  } finally {
    close();
    await lock?.release();
  }
}

/** Works until the signal fires. Never rejects. */
export async function runShutdownManager(
  deps: ShutdownDeps,
  periods: readonly ShutdownPeriod[],
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = deps;
  let warned = false;
  while (!signal.aborted) {
    try {
      await session(deps, periods, signal);
      warned = false;
    } catch (thrown) {
      if (!warned)
        log.warn({ err: asError(thrown) }, 'Shutdowns of the machine can not be held up; pods end with it');
      warned = true;
    }
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
  }
}
