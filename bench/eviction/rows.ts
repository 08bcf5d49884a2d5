/** Rows of node-pressure eviction: the cost of watching signals, and the delay from a crossed threshold to
 *  the kill. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { cpuSeconds } from '../process.ts';
import type { RowOn } from '../row.ts';
import { POD_COUNT } from '../setup.ts';
import { type Measurement, median } from '../table.ts';
import { type EvictionBench, MIN_MIB } from './setup.ts';

const REPEATS = 5;
const PERIOD_MS = 10_000;
const QUICK_MS = 100;
const WINDOW_MS = 20_000;
/** Timeout for the kill of a pod. */
const KILL_TIMEOUT_MS = 60_000;
const MIB = 2 ** 20;

const manifest = (name: string, command: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      restartPolicy: 'Never',
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: 'memory', emptyDir: { medium: 'Memory' } }],
      containers: [
        {
          name: 'c',
          image: 'local/busybox:1',
          command: ['sh', '-c', command],
          volumeMounts: [{ name: 'memory', mountPath: '/memory' }],
        },
      ],
    },
  });

/** The agent measures a hundred times as often as by default, so that the cost becomes visible; the rest of
 *  the agent's work is included.
 *  Must be the last row: it changes the agent's settings. */
async function measureSignals({ agent, say }: EvictionBench): Promise<Measurement> {
  // Settings for many pods, which need some memory together.
  const enough = ['--system-reserved=memory=1Gi', '--eviction-hard=allocatableMemory.available<1Mi'];
  await agent.stop();
  await agent.start(enough);
  const names = Array.from({ length: POD_COUNT }, (_, index) => `rests-${index}`);
  await Promise.all(names.map((name) => agent.put(`${name}.json`, manifest(name, 'sleep 100000'))));
  await eventually(async () => (await agent.pods()).filter(isReady).length === POD_COUNT, {
    timeoutMs: 120_000,
    intervalMs: 500,
    what: 'all pods are running',
  });
  await agent.stop();
  await agent.start([...enough, `--housekeeping-interval=${QUICK_MS}ms`]);
  await wait(PERIOD_MS);
  say(`measuring for ${WINDOW_MS / 1000} s`);
  const before = await cpuSeconds(agent.pid);
  await wait(WINDOW_MS);
  const used = (await cpuSeconds(agent.pid)) - before;
  for (const name of names) await agent.drop(`${name}.json`);
  await eventually(async () => (await agent.pods()).length === 0, { timeoutMs: 120_000, intervalMs: 500 });
  return { value: ((100 * used * 1000) / WINDOW_MS) * (QUICK_MS / PERIOD_MS) };
}

const readOr = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '');

/** Returns the memory available to all pods together, without inactive file cache. */
async function leftMiB(folder: string): Promise<number> {
  const [used, most, stat] = await Promise.all([
    readOr(join(folder, 'memory.usage_in_bytes')).then(
      (text) => text || readOr(join(folder, 'memory.current')),
    ),
    readOr(join(folder, 'memory.limit_in_bytes')).then((text) => text || readOr(join(folder, 'memory.max'))),
    readOr(join(folder, 'memory.stat')),
  ]);
  const inactive = /^total_inactive_file (\d+)$/m.exec(stat) ?? /^inactive_file (\d+)$/m.exec(stat);
  return (Number(most) - Number(used) + Number(inactive?.[1] ?? 0)) / MIB;
}

/** Returns the time at which the condition became true. @throws Error when it does not within `KILL_TIMEOUT_MS` */
async function until(what: string, condition: () => Promise<boolean>): Promise<number> {
  await eventually(condition, { timeoutMs: KILL_TIMEOUT_MS, intervalMs: 1, what });
  return performance.now();
}

async function killMs({ agent, podsCgroup }: EvictionBench, name: string): Promise<number> {
  const fill =
    'while :; do head -c 5m /dev/zero >>/memory/x; [ $(stat -c %s /memory/x) -lt 560000000 ] || sleep 1000; done';
  // Applied, because static pods are never evicted.
  await agent.apply(manifest(name, fill));
  const crossedMs = await until(
    'the threshold is crossed',
    async () => (await leftMiB(podsCgroup)) < MIN_MIB,
  );
  const pod = await agent.pod(name);
  const id = pod?.status?.containerStatuses?.[0]?.containerID?.replace(/^.*:\/\//, '') ?? '';
  const all = await readdir(podsCgroup, { recursive: true });
  const folder = all.find((path) => id !== '' && path.endsWith(id));
  const processes = join(podsCgroup, folder ?? '', 'cgroup.procs');
  const killedMs = await until(`${name} is killed`, async () => (await readOr(processes)) === '');
  await agent.waitFor(name, ({ status }) => status?.reason === 'Evicted');
  await agent.call('DELETE', `/pods/default/${name}`);
  await eventually(async () => (await agent.pods()).length === 0);
  // Until the node condition is false again.
  await wait(2500);
  return killedMs - crossedMs;
}

async function measureKill(bench: EvictionBench): Promise<Measurement> {
  const times: number[] = [];
  for (let index = 0; index < REPEATS; index += 1) {
    times.push(await killMs(bench, `greedy-${index}`));
    bench.say(`killed after ${times.at(-1)?.toFixed(0)} ms`);
  }
  return { value: median(times) };
}

export const evictionSignals: RowOn<EvictionBench> = {
  name: 'eviction-signals',
  title: `eviction signals with ${POD_COUNT} pods: CPU of one core`,
  unit: '%',
  budget: 0.5,
  limits: 'value',
  measure: measureSignals,
};

export const evictionKill: RowOn<EvictionBench> = {
  name: 'eviction-kill',
  title: 'hard memory threshold crossed → processes killed, with kernel notifications',
  unit: 'ms',
  budget: 500,
  limits: 'value',
  measure: measureKill,
};
