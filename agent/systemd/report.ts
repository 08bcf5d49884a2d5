/** Reports the state of the agent to systemd: ready once pods can run, with the reason until then; later its
 *  waits. */
import type { Clock } from '#api/kit/clock.ts';
import type { SystemdNotifier } from '#api/kit/systemd/notify.ts';
import type { Waits } from '#api/kit/waits.ts';

export interface SystemdReportDeps {
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly notifier: SystemdNotifier;
  readonly waits: Pick<Waits, 'lasting' | 'onChange'>;
  /** Resolves when pods can run. */
  readonly canRun: Promise<void>;
  readonly node: string;
}

/** A start timeout would restart the unit, which does not help the runtime. */
const EXTEND_BY_MS = 60_000;
const EXTEND_EVERY_MS = 15_000;

/** Reports until the signal fires. */
export async function reportToSystemd(
  { clock, notifier, waits, canRun, node }: SystemdReportDeps,
  signal: AbortSignal,
): Promise<void> {
  let isReady = false;
  const text = (): string => {
    const state = isReady ? `Node ${node} is up` : `Node ${node} is starting`;
    const reasons = waits.lasting().map(({ what, sinceMs, why }) => {
      const since = new Date(sinceMs).toISOString().slice(0, 19);
      return `${what} since ${since}Z${why === '' ? '' : `, ${why}`}`;
    });
    return reasons.length === 0 ? state : `${state}; waiting for ${reasons.join('; ')}`;
  };
  const extend = (): void => {
    notifier.extendStart(EXTEND_BY_MS);
    timer = clock.setTimer(extend, EXTEND_EVERY_MS);
  };
  let timer = clock.setTimer(extend, 0);
  const unsubscribe = waits.onChange(() => notifier.status(text()));
  notifier.status(text());
  const stopped = new Promise<void>((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
  await Promise.race([canRun, stopped]);
  timer.cancel();
  if (!signal.aborted) {
    isReady = true;
    notifier.ready(text());
    await stopped;
  }
  unsubscribe();
}
