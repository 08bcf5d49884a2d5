/** Rows: volumes of as many pods as a node allows, set up from nothing, and found again after a restart of
 *  the agent. */
import type { RowOn } from '../row.ts';
import { POD_COUNT } from '../setup.ts';
import { type Measurement, median } from '../table.ts';
import type { VolumeBench } from './setup.ts';

const REPEATS = 9;

export interface MountTimes {
  readonly coldMs: number;
  readonly restartMs: number;
  readonly bareMs: number;
}

type Parts = Omit<VolumeBench, 'mountTimes'>;

async function mountOnce(
  { folder, manager, mountAll, mountBare, clear }: Parts,
  name: string,
): Promise<MountTimes> {
  const bare = await folder(`bare-${name}`);
  const bareMs = await mountBare(bare);
  await clear(bare);
  const own = await folder(`own-${name}`);
  const coldMs = await mountAll(manager(own));
  const restartMs = await mountAll(manager(own));
  await clear(own);
  return { coldMs, restartMs, bareMs };
}

/** Repeats the measurement, each time next to its baseline. */
export async function measureMounts(bench: Parts): Promise<readonly MountTimes[]> {
  const times: MountTimes[] = [];
  // The first repetition loads and compiles code for the others.
  for (let index = 0; index <= REPEATS; index += 1) {
    const once = await mountOnce(bench, String(index));
    if (index > 0) times.push(once);
    const [cold, restart, bare] = [once.coldMs, once.restartMs, once.bareMs].map((ms) => ms.toFixed(0));
    bench.say(`volumes: cold ${cold} ms, after a restart ${restart} ms, bare ${bare} ms`);
  }
  return times;
}

async function measure(bench: VolumeBench, which: 'coldMs' | 'restartMs'): Promise<Measurement> {
  const times = await bench.mountTimes();
  return {
    value: median(times.map((once) => once[which])) / 1000,
    floor: median(times.map(({ bareMs }) => bareMs)) / 1000,
  };
}

const row = (name: string, title: string, which: 'coldMs' | 'restartMs'): RowOn<VolumeBench> => ({
  name,
  title,
  unit: 's',
  budget: 1.3,
  limits: 'ratio',
  measure: (bench) => measure(bench, which),
});

export const volumesCold: RowOn<VolumeBench> = row(
  'volumes-cold',
  `${POD_COUNT} pods with 5 volumes each → all ready`,
  'coldMs',
);

export const volumesRestart: RowOn<VolumeBench> = row(
  'volumes-restart',
  '… after a restart of the agent',
  'restartMs',
);

const ROUNDS = 5;
const PERIOD_MS = 60_000;

async function measureUsage({
  folder,
  manager,
  mountAll,
  clear,
  usage,
  say,
}: VolumeBench): Promise<Measurement> {
  const dir = await folder('usage');
  await mountAll(manager(dir));
  const measureOnce = usage(dir);
  await measureOnce();
  const shares: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const before = process.cpuUsage();
    const volumes = await measureOnce();
    const { user, system } = process.cpuUsage(before);
    shares.push((100 * (user + system)) / 1000 / PERIOD_MS);
    say(`usage: ${volumes} volumes in ${((user + system) / 1000).toFixed(0)} ms of CPU`);
  }
  await clear(dir);
  return { value: median(shares) };
}

export const usageCpu: RowOn<VolumeBench> = {
  name: 'usage-cpu',
  title: `usage of ${POD_COUNT} pods’ volumes each minute: CPU of one core`,
  unit: '%',
  budget: 0.5,
  limits: 'value',
  measure: measureUsage,
};
