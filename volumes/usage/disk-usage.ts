/** Cached usage of pods' volumes and logs. Measured on demand when the values are old: a node without
 *  queries walks through nothing. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ApartMeasure } from './apart.ts';
import { type MeasureRound, measureInThread } from './measuring-thread.ts';
import type { Measured, MeasureTask, PodFolders, Subject } from './protocol.ts';
import type { QuotaMeasure } from './quota-measure.ts';

export interface UsageFigures extends Measured {
  /** Wall time of the measurement, in ms. */
  readonly atMs: number;
}

export interface DiskUsage {
  /** Returns the known usage of a pod; empty unless it was measured. */
  of(podUID: string): readonly UsageFigures[];
  /** Starts a round if one is due. Waits for a moment if values are missing or long out of date. */
  refresh(): Promise<void>;
  /** Measures now, or waits for the round in flight. Does nothing if measuring is disabled. */
  measure(): Promise<void>;
  close(): void;
}

export interface DiskUsageDeps {
  readonly clock: Clock;
  readonly log: Pick<Logger, 'warn' | 'debug'>;
  /** Current pods. */
  readonly pods: () => readonly PodFolders[];
  /** For volumes that the thread does not measure. */
  readonly apart?: ApartMeasure;
  /** For directories with quota accounting. */
  readonly quotas?: QuotaMeasure;
  readonly measure?: MeasureRound;
}

export interface DiskUsageOptions {
  /** Shortest time between two rounds, in ms. 0 and less disable measuring. */
  readonly periodMs: number;
}

const isOf = ({ volumesDir, devicesDir, logsDir }: PodFolders, path: string): boolean =>
  [volumesDir, devicesDir, logsDir].some((dir) => path.startsWith(`${dir}/`));

/** Callers wait no longer than this. */
const WAIT_TIMEOUT_MS = 1000;

const keyOf = ({ of, name }: Subject): string => `${of}/${name}`;

/** Creates the cache of each pod's usage. Entries without newer values stay, with their old time. */
function createFigures(clock: Clock) {
  const pods = new Map<string, Map<string, UsageFigures>>();
  return {
    of: (podUID: string): readonly UsageFigures[] => [...(pods.get(podUID)?.values() ?? [])],
    keep: (measured: Measured): void => {
      const ofPod = pods.get(measured.podUID) ?? new Map<string, UsageFigures>();
      ofPod.set(keyOf(measured), { ...measured, atMs: clock.now() });
      pods.set(measured.podUID, ofPod);
    },
    keepPods: (uids: ReadonlySet<string>): void => {
      for (const uid of pods.keys()) if (!uids.has(uid)) pods.delete(uid);
    },
  };
}

type RoundDeps = Pick<DiskUsageDeps, 'apart' | 'quotas' | 'clock'> & { readonly measure: MeasureRound };

/** Runs one round of all kinds of measurement. Returns the directory that ended it early, if any. */
async function measureRound(
  { apart, quotas, measure, clock }: RoundDeps,
  { pods, skipped }: Pick<MeasureTask, 'pods' | 'skipped'>,
  keep: (measured: Measured) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const counted = (await quotas?.measure(pods)) ?? [];
  for (const { measured } of counted) keep(measured);
  const asking: Promise<void>[] = [];
  const round = apart?.begin();
  const task = {
    pods,
    skipped: [...skipped, ...counted.map(({ path }) => path)],
    asked: apart?.asked ?? [],
  };
  const { stuckAt } = await measure(
    {
      clock,
      onMeasured: keep,
      onApart(volume) {
        if (round === undefined) return;
        asking.push(round.measure(volume, signal).then((measured) => measured && keep(measured)));
      },
    },
    task,
    signal,
  );
  await Promise.all(asking);
  return stuckAt;
}

export function createDiskUsage(deps: DiskUsageDeps, { periodMs }: DiskUsageOptions): DiskUsage {
  const { clock, log, pods, measure = measureInThread } = deps;
  const closing = new AbortController();
  const figures = createFigures(clock);
  const skipped = new Set<string>();
  let lastMs: number | undefined;
  let round: Promise<void> | undefined;

  async function measureOnce(): Promise<void> {
    const present = pods();
    figures.keepPods(new Set(present.map(({ uid }) => uid)));
    for (const path of skipped) if (!present.some((pod) => isOf(pod, path))) skipped.delete(path);
    const task = { pods: present, skipped: [...skipped] };
    try {
      const stuckAt = await measureRound({ ...deps, measure }, task, figures.keep, closing.signal);
      if (stuckAt === undefined) return;
      skipped.add(stuckAt);
      log.warn({ path: stuckAt }, 'Failed to measure directory; it is skipped from now on');
    } catch (thrown) {
      if (!closing.signal.aborted) log.warn({ err: asError(thrown) }, 'Failed to measure volumes');
    }
  }

  function start(): Promise<void> {
    lastMs = clock.monotonic();
    round = measureOnce().finally(() => {
      round = undefined;
    });
    return round;
  }

  const isOff = (): boolean => periodMs <= 0 || closing.signal.aborted;

  return {
    of: figures.of,
    async refresh() {
      if (isOff()) return;
      const ageMs = lastMs === undefined ? Infinity : clock.monotonic() - lastMs;
      const running = ageMs >= periodMs ? (round ?? start()) : undefined;
      if (running === undefined || ageMs < 2 * periodMs) return;
      await Promise.race([running, sleep(clock, WAIT_TIMEOUT_MS)]);
    },
    async measure() {
      if (!isOff()) await (round ?? start());
    },
    close: () => closing.abort(new Error('server is stopping')),
  };
}
