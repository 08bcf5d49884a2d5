/** Row: agent start → healthy without pods, compared with the start of Node itself. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import type { Row } from '../row.ts';
import type { Bench } from '../setup.ts';
import { type Measurement, median } from '../table.ts';

const REPEATS = 9;
const POLL_MS = 4;
const TIMEOUT_MS = 20_000;

async function bareNodeMs(): Promise<number> {
  const startMs = performance.now();
  await once(spawn(process.execPath, ['-e', '0'], { stdio: 'ignore' }), 'exit');
  return performance.now() - startMs;
}

async function agentMs({ agent }: Bench): Promise<number> {
  await agent.stop();
  const startMs = performance.now();
  agent.spawn();
  while (performance.now() < startMs + TIMEOUT_MS) {
    const response = await agent.get('/healthz').catch(() => undefined);
    if (response === 'ok') return performance.now() - startMs;
    await wait(POLL_MS);
  }
  throw new Error('the agent did not become healthy');
}

async function measure(bench: Bench): Promise<Measurement> {
  await bench.clear();
  const own: number[] = [];
  const bare: number[] = [];
  for (let index = 0; index < REPEATS; index += 1) {
    bare.push(await bareNodeMs());
    own.push(await agentMs(bench));
    bench.say(`agent start: ${own.at(-1)?.toFixed(0)} ms, node ${bare.at(-1)?.toFixed(0)} ms`);
  }
  const floorMs = median(bare);
  return { value: (median(own) - floorMs) / 1000, floor: floorMs / 1000 };
}

export const agentStart: Row = {
  name: 'agent-start',
  title: 'agent start → healthy, over `node -e 0`',
  unit: 's',
  budget: 0.5,
  limits: 'value',
  measure,
};
