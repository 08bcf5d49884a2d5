/** What the volumes and logs of pods take, as it was when they were last measured. Measured when somebody asks and the
 *  numbers are old: a node that nobody asks walks through nothing. */
import { asError, type Clock, sleep } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type MeasureRound, measureInThread } from './measuring-thread.ts';
import type { Measured, PodFolders } from './protocol.ts';

export interface UsageFigures extends Measured {
  /** Wall time of measuring, in ms. */
  readonly atMs: number;
}

export interface DiskUsage {
  /** What is known of a pod; nothing unless `refresh` was called. */
  of(podUID: string): readonly UsageFigures[];
  /** Starts a round if one is due. Numbers that are long out of date, or not there yet, are waited for a moment. */
  refresh(): Promise<void>;
  close(): void;
}

export interface DiskUsageDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  /** Pods that there are. */
  readonly pods: () => readonly PodFolders[];
  readonly measure?: MeasureRound;
}

export interface DiskUsageOptions {
  /** Shortest time between two rounds, in ms. 0 and less: nothing is measured. */
  readonly periodMs: number;
}

const isOf = ({ volumesDir, logsDir }: PodFolders, path: string): boolean =>
  path.startsWith(`${volumesDir}/`) || path.startsWith(`${logsDir}/`);

/** Who asks is not held up longer than this. */
const LONGEST_WAIT_MS = 1000;

export function createDiskUsage(deps: DiskUsageDeps, { periodMs }: DiskUsageOptions): DiskUsage {
  const { clock, log, pods, measure = measureInThread } = deps;
  const closing = new AbortController();
  const figures = new Map<string, Map<string, UsageFigures>>();
  const skipped = new Set<string>();
  let lastMs: number | undefined;
  let round: Promise<void> | undefined;

  function keep(measured: Measured): void {
    const ofPod = figures.get(measured.podUID) ?? new Map<string, UsageFigures>();
    ofPod.set(`${measured.of}/${measured.name}`, { ...measured, atMs: clock.now() });
    figures.set(measured.podUID, ofPod);
  }

  async function measureOnce(): Promise<void> {
    const task = { pods: pods(), skipped: [...skipped] };
    const uids = new Set(task.pods.map(({ uid }) => uid));
    for (const uid of figures.keys()) if (!uids.has(uid)) figures.delete(uid);
    for (const path of skipped) if (!task.pods.some((pod) => isOf(pod, path))) skipped.delete(path);
    try {
      const { stuckAt } = await measure({ clock, onMeasured: keep }, task, closing.signal);
      if (stuckAt === undefined) return;
      skipped.add(stuckAt);
      log.warn({ path: stuckAt }, 'Folder could not be measured, and is left out from now on');
    } catch (thrown) {
      if (!closing.signal.aborted) log.warn({ err: asError(thrown) }, 'Volumes were not measured');
    }
  }

  function start(): Promise<void> {
    lastMs = clock.monotonic();
    round = measureOnce().finally(() => {
      round = undefined;
    });
    return round;
  }

  return {
    of: (podUID) => [...(figures.get(podUID)?.values() ?? [])],
    async refresh() {
      if (periodMs <= 0 || closing.signal.aborted) return;
      const ageMs = lastMs === undefined ? Infinity : clock.monotonic() - lastMs;
      const running = ageMs >= periodMs ? (round ?? start()) : undefined;
      if (running === undefined || ageMs < 2 * periodMs) return;
      await Promise.race([running, sleep(clock, LONGEST_WAIT_MS)]);
    },
    close: () => closing.abort(new Error('server is stopping')),
  };
}
