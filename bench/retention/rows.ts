/** Memory that an agent retains after many pods were added and removed, compared with a fresh agent with the same pods.
 *  The API server is real; one row has a simulated runtime, the other one containerd. */
import { setTimeout as wait } from 'node:timers/promises';
import { residentMiB } from '../process.ts';
import type { RowOn } from '../row.ts';
import type { Measurement } from '../table.ts';
import type { BenchNode, RetentionBench, Runtime } from './setup.ts';

/** That come and go, so many at a time, and those that run at the end. */
const GONE = 2000;
const AT_ONCE = 100;
const STAYING = 100;
/** The agent collects garbage when it has rested for 5 s. */
const SETTLE_MS = 20_000;

async function residentWith(node: BenchNode): Promise<number> {
  await node.create('stay', STAYING);
  await wait(SETTLE_MS);
  return residentMiB(node.pid);
}

async function measure({ open, say }: RetentionBench, runtime: Runtime): Promise<Measurement> {
  await using fresh = await open(runtime);
  const floor = await residentWith(fresh);
  say(`a fresh agent with ${STAYING} pods: ${floor.toFixed(0)} MiB`);
  await using used = await open(runtime);
  for (let gone = 0; gone < GONE; gone += AT_ONCE) {
    await used.create(`gone-${gone}`, AT_ONCE);
    await used.clear();
    say(`${gone + AT_ONCE} pods came and went: ${(await residentMiB(used.pid)).toFixed(0)} MiB`);
  }
  const value = await residentWith(used);
  say(`after ${GONE} pods: ${value.toFixed(0)} MiB`);
  return { value, floor };
}

const rowOn = (name: string, runtime: Runtime, suffix: string): RowOn<RetentionBench> => ({
  name,
  title: `resident memory after ${GONE} pods came and went, with ${STAYING}${suffix}`,
  unit: 'MiB',
  budget: 1.2,
  limits: 'ratio',
  measure: (bench) => measure(bench, runtime),
});

export const retention: RowOn<RetentionBench> = rowOn('retention', 'simulated', '');

/** Takes half an hour: only on request. */
export const retentionContainerd: RowOn<RetentionBench> = rowOn(
  'retention-containerd',
  'containerd',
  ', on containerd',
);
