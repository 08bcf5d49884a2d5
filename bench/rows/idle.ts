/** Rows: resource usage of the agent while its full set of pods is idle. */
import { setTimeout as wait } from 'node:timers/promises';
import { cpuSeconds, residentMiB } from '../process.ts';
import type { RowOn } from '../row.ts';
import { type Bench, POD_COUNT } from '../setup.ts';
import type { Measurement } from '../table.ts';

/** Until work that follows the starts has finished. */
const SETTLE_MS = 5_000;
/** Longer than the period of the agent's slowest regular work, one minute. */
const WINDOW_MS = 65_000;

type IdleBench = Pick<Bench, 'agent' | 'fill' | 'say'>;

async function measureCpu({ agent, fill, say }: IdleBench): Promise<Measurement> {
  await fill();
  await wait(SETTLE_MS);
  say(`idle for ${WINDOW_MS / 1000} s`);
  const beforeMs = performance.now();
  const before = await cpuSeconds(agent.pid);
  await wait(WINDOW_MS);
  const used = (await cpuSeconds(agent.pid)) - before;
  return { value: (100 * used * 1000) / (performance.now() - beforeMs) };
}

async function measureMemory({ agent, fill }: IdleBench): Promise<Measurement> {
  await fill();
  await wait(SETTLE_MS);
  return { value: await residentMiB(agent.pid) };
}

export const idleCpu: RowOn<IdleBench> = {
  name: 'idle-cpu',
  title: `idle with ${POD_COUNT} pods: CPU of one core`,
  unit: '%',
  budget: 1.5,
  limits: 'value',
  measure: measureCpu,
};

export const memory: RowOn<IdleBench> = {
  name: 'memory',
  title: `resident memory with ${POD_COUNT} pods`,
  unit: 'MiB',
  budget: 100,
  limits: 'value',
  measure: measureMemory,
};
