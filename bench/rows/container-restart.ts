/** Row: container killed → first instruction of its successor. Each pod is used once, because a second
 *  kill would cause backoff. */
import { setTimeout as wait } from 'node:timers/promises';
import type { CriConnection } from '#cri/client/connection.ts';
import { eventually } from '../../testing/wait.ts';
import type { Row } from '../row.ts';
import { type Bench, wallMs } from '../setup.ts';
import { type Measurement, median } from '../table.ts';

const REPEATS = 12;
/** Larger than the granularity of the file clock, so that the killed container's file does not count. */
const APART_MS = 100;

/** Returns the PID of the container's process 1 on the node. @throws Error when the runtime does not
 *  report it */
async function processOf({ runtime }: CriConnection, containerId: string): Promise<number> {
  const { info } = await runtime.containerStatus({ containerId, verbose: true });
  const details: unknown = JSON.parse(info['info'] ?? '{}');
  if (typeof details === 'object' && details !== null && 'pid' in details && Number(details.pid) > 1) {
    return Number(details.pid);
  }
  throw new Error(`the runtime does not report the PID of container ${containerId}`);
}

async function containerOf({ agent }: Bench, name: string): Promise<string> {
  const id = await eventually(async () => {
    const pod = await agent.pod(name);
    const status = pod?.status?.containerStatuses?.[0];
    return status?.state?.running === undefined ? undefined : status.containerID;
  });
  return id.slice(id.indexOf('://') + 3);
}

async function restartOnce(bench: Bench, name: string): Promise<number> {
  const pid = await processOf(bench.cri, await containerOf(bench, name));
  await wait(APART_MS);
  const sinceMs = wallMs();
  process.kill(pid, 'SIGKILL');
  return (await bench.started.at(name, sinceMs)) - sinceMs;
}

async function measure(bench: Bench): Promise<Measurement> {
  const { floor, started, drop, clear, say } = bench;
  await clear();
  const names = Array.from({ length: REPEATS }, (_, index) => `restart-${index}`);
  const sinceMs = await drop(names);
  await Promise.all(names.map((name) => started.at(name, sinceMs)));
  const bare = await floor.prepare('bare-restart');
  const sandboxId = await floor.run(bare);
  const ownMs: number[] = [];
  const bareMs: number[] = [];
  for (const [index, name] of names.entries()) {
    await wait(APART_MS);
    const startMs = wallMs();
    const starting = floor.startContainer(bare, sandboxId, index + 1);
    bareMs.push((await started.at('bare-restart', startMs)) - startMs);
    await starting;
    ownMs.push(await restartOnce(bench, name));
    say(`restart: ${ownMs.at(-1)?.toFixed(0)} ms, bare ${bareMs.at(-1)?.toFixed(0)} ms`);
  }
  await floor.remove(sandboxId);
  await clear();
  return { value: median(ownMs) / 1000, floor: median(bareMs) / 1000 };
}

export const containerRestart: Row = {
  name: 'container-restart',
  title: 'container killed → successor’s first instruction',
  unit: 's',
  budget: 1.5,
  limits: 'ratio',
  measure,
};
