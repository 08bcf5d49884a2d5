/** Graceful node shutdown: terminates pods in order while the machine shutdown is delayed.
 *
 *    lock acquired ─▶ shutdown starts ─▶ node not ready, no new pods ─▶ pod groups in order ─▶ lock released
 *        ▲                                                                                        │
 *        └────────────────── shutdown cancelled, bus or lock lost ◀───────────────────────────────┘
 *
 *  Source: upstream's node shutdown manager, release 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type ShutdownGroup, type ShutdownPeriod, shutdownGroups, wholePeriod } from './decide.ts';
import type { Inhibitor } from './inhibitor.ts';
import type { Logind } from './logind.ts';

export interface ShutdownDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Connects to the bus. */
  readonly connect: () => Promise<{
    readonly logind: Logind;
    /** Resolves when the connection is closed. */
    readonly closed: Promise<void>;
    readonly close: () => void;
  }>;
  readonly inhibit: () => Promise<Inhibitor>;
  /** Pods that have not terminated. */
  readonly pods: () => readonly Pod[];
  readonly priorityOf: (pod: Pod) => number;
  /** Resolves when the pod has terminated. */
  readonly end: (pod: Pod, graceSeconds: number, signal: AbortSignal) => Promise<void>;
  /** Called when a shutdown starts, and when it is cancelled. */
  readonly notify: (shuttingDown: boolean) => void;
  /** Called when the pods have terminated, or their time is over. The shutdown waits for it. */
  readonly ended?: () => Promise<void>;
}

/** Delay after the loss of the bus or the lock. Source: upstream's reconnect period. */
const RETRY_MS = 1000;

/** Resolves when the pods of a group have terminated, or their time is over. */
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
          log.warn({ err, pod: pod.metadata?.name }, 'Failed to terminate pod for the shutdown');
      }),
    ),
  );
  const time = sleep(clock, seconds * 1000, either).then(
    () => {
      log.warn({ priority, seconds }, 'Pods did not terminate within their grace period');
      return 'over';
    },
    () => 'ended',
  );
  await Promise.race([all, time]);
  over.abort(new Error('the grace period of the group is over'));
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

async function raiseDelay(
  { log }: ShutdownDeps,
  logind: Logind,
  periods: readonly ShutdownPeriod[],
): Promise<void> {
  const seconds = wholePeriod(periods);
  if ((await logind.longestDelayMs()) >= seconds * 1000) return;
  try {
    await logind.allowDelay(seconds);
  } catch (err) {
    log.warn({ err, seconds }, 'Failed to raise the shutdown delay');
  }
  const allowedMs = await logind.longestDelayMs();
  if (allowedMs >= seconds * 1000) return;
  log.warn(
    { seconds, allowedSeconds: allowedMs / 1000, remedy: `set InhibitDelayMaxSec=${seconds} in logind.conf` },
    'Shutdown delay is shorter than the pod grace periods',
  );
}

/** Lifetime of one connection. Resolves when it, or the lock, is lost. */
async function session(
  deps: ShutdownDeps,
  periods: readonly ShutdownPeriod[],
  signal: AbortSignal,
): Promise<void> {
  const { log, notify } = deps;
  const { logind, closed, close } = await deps.connect();
  const ended = new Promise<void>((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  let lock: Inhibitor | undefined;
  try {
    await raiseDelay(deps, logind, periods);
    let ending: AbortController | undefined;
    const again = Promise.withResolvers<void>();
    await logind.onShutdown((begins) => {
      log.info({}, begins ? 'Machine shutdown started' : 'Machine shutdown cancelled');
      notify(begins);
      if (!begins) {
        ending?.abort(new Error('the shutdown was cancelled'));
        // Reconnects to acquire another lock, for the next shutdown.
        return again.resolve();
      }
      ending = new AbortController();
      const either = AbortSignal.any([signal, ending.signal]);
      endPods(deps, periods, either)
        .then(() => (signal.aborted ? undefined : deps.ended?.()))
        .then(() => lock?.release())
        .catch((err: unknown) => log.error({ err }, 'Failed to terminate pods for the shutdown'));
    });
    lock = await deps.inhibit();
    log.info({ seconds: wholePeriod(periods) }, 'Shutdown inhibitor acquired');
    // Released after a shutdown; otherwise it was lost, and another one is needed.
    const lost = lock.gone.then(() => (ending === undefined ? undefined : again.promise));
    await Promise.race([closed, again.promise, ended, lost]);
  } finally {
    close();
    await lock?.release();
  }
}

/** Runs until the signal fires. Never rejects. */
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
        log.warn({ err: asError(thrown) }, 'Failed to inhibit machine shutdowns; pods end with the machine');
      warned = true;
    }
    await sleep(clock, RETRY_MS, signal).catch(() => undefined);
  }
}
