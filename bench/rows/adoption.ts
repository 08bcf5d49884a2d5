/** Row: agent restarted with its full set of pods running → all adopted, none restarted. */
import { setTimeout as wait } from 'node:timers/promises';
import type { Pod } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import type { Row } from '../row.ts';
import { type Bench, POD_COUNT } from '../setup.ts';
import { type Measurement, median } from '../table.ts';

const REPEATS = 3;
const POLL_MS = 20;
const TIMEOUT_MS = 30_000;

const containers = (pods: readonly Pod[]): string =>
  pods
    .map(({ status }) => status?.containerStatuses?.[0])
    .map((status) => `${status?.containerID} ${status?.restartCount}`)
    .sort()
    .join('\n');

async function allReady({ agent }: Bench): Promise<readonly Pod[]> {
  const untilMs = performance.now() + TIMEOUT_MS;
  while (performance.now() < untilMs) {
    const pods = await agent.pods().catch(() => []);
    if (pods.length === POD_COUNT && pods.every(isReady)) return pods;
    await wait(POLL_MS);
  }
  throw new Error(`not all ${POD_COUNT} pods were adopted within ${TIMEOUT_MS / 1000} s`);
}

async function measure(bench: Bench): Promise<Measurement> {
  const { agent, fill, say } = bench;
  await fill();
  const before = containers(await allReady(bench));
  const times: number[] = [];
  for (let index = 0; index < REPEATS; index += 1) {
    await agent.stop(index % 2 === 0 ? 'SIGTERM' : 'SIGKILL');
    const startMs = performance.now();
    agent.spawn();
    const pods = await allReady(bench);
    times.push(performance.now() - startMs);
    say(`adoption: ${times.at(-1)?.toFixed(0)} ms`);
    if (containers(pods) !== before)
      return { value: median(times) / 1000, error: 'a container was replaced' };
  }
  return { value: median(times) / 1000 };
}

export const adoption: Row = {
  name: 'adoption',
  title: `restart with ${POD_COUNT} pods → all adopted`,
  unit: 's',
  budget: 2,
  limits: 'value',
  measure,
};
