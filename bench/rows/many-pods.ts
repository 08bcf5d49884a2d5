/** Row: as many pods as a node allows, created at once → all running. Leaves them running. */
import { createLimiter } from '#api/kit/limiter.ts';
import type { RowOn } from '../row.ts';
import { fullSet, POD_COUNT, type StartBench, wallMs } from '../setup.ts';
import { type Measurement, median } from '../table.ts';

const REPEATS = 2;
/** Number of concurrent starts at which containerd starts most pods per second on two cores. */
const BEST_CONCURRENCY = 8;
const TIMEOUT_MS = 120_000;

async function runBare({ floor, started }: StartBench): Promise<number> {
  const pods = await Promise.all(
    fullSet().map(async (_, index) => ({ name: `bare-${index}`, run: await floor.ready(`bare-${index}`) })),
  );
  const limiter = createLimiter(BEST_CONCURRENCY);
  const sinceMs = wallMs();
  const running = Promise.all(pods.map(({ run }) => limiter.run(run)));
  const times = await Promise.all(pods.map(({ name }) => started.at(name, sinceMs, TIMEOUT_MS)));
  const sandboxes = await running;
  await Promise.all(sandboxes.map((id) => limiter.run(() => floor.remove(id))));
  return Math.max(...times) - sinceMs;
}

async function runOwn({ drop, clear, started }: StartBench): Promise<number> {
  await clear();
  const sinceMs = await drop(fullSet());
  const times = await Promise.all(fullSet().map((name) => started.at(name, sinceMs, TIMEOUT_MS)));
  return Math.max(...times) - sinceMs;
}

async function measure(bench: StartBench): Promise<Measurement> {
  const own: number[] = [];
  const bare: number[] = [];
  for (let index = 0; index < REPEATS; index += 1) {
    await bench.clear();
    bare.push(await runBare(bench));
    own.push(await runOwn(bench));
    bench.say(`${POD_COUNT} pods: ${own.at(-1)?.toFixed(0)} ms, bare ${bare.at(-1)?.toFixed(0)} ms`);
  }
  return { value: median(own) / 1000, floor: median(bare) / 1000 };
}

export const manyPods: RowOn<StartBench> = {
  name: 'many-pods',
  title: `${POD_COUNT} pods at once → all running`,
  unit: 's',
  budget: 1.2,
  limits: 'ratio',
  measure,
};
