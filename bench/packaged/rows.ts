/** Rows: start and idle memory of the packaged programs, as their units start them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { startTestContainerd } from '../../testing/containerd.ts';
import { startPlaneProcess } from '../plane/server-process.ts';
import { residentMiB } from '../process.ts';
import type { RowOn } from '../row.ts';
import { readUnit, unitEnvironment, unitNodeFlags } from '../setup.ts';
import { type Measurement, median } from '../table.ts';
import type { PackagedBench } from './setup.ts';

const REPEATS = 5;
const IDLE_MS = 10_000;
const FLAGS = ['--vocabulary=kubernetes', '--enable-bootstrap-token-auth'];

const startServer = (bench: PackagedBench, dataDir: string) =>
  startPlaneProcess({
    node: join(bench.server, 'bin/node'),
    program: join(bench.server, 'dist/control-plane-lite.js'),
    dataDir: join(bench.folder, dataDir),
    flags: FLAGS,
  });

/** Each start is the first one: it creates the authorities and the store, and no code is cached. */
async function measureStart(bench: PackagedBench): Promise<Measurement> {
  const times: number[] = [];
  for (let index = 0; index < REPEATS; index += 1) {
    const startMs = performance.now();
    await using server = await startServer(bench, `start-${index}`);
    if (server.pid > 0) times.push(performance.now() - startMs);
  }
  return { value: median(times) / 1000 };
}

async function measureServerMemory(bench: PackagedBench): Promise<Measurement> {
  await using server = await startServer(bench, 'memory');
  await pause(IDLE_MS);
  return { value: await residentMiB(server.pid) };
}

/** Resolves once the agent has logged that it started. @throws Error if it exits instead */
async function started({ stderr }: ChildProcess): Promise<void> {
  if (stderr === null) throw new Error('the agent has no log');
  for await (const line of createInterface({ input: stderr })) if (line.includes('Agent started')) return;
  throw new Error('the agent exited before it had started');
}

async function measureAgentMemory({ agent, folder }: PackagedBench): Promise<Measurement> {
  await using containerd = await startTestContainerd();
  const unit = await readUnit();
  const data = ['root-dir', 'pod-logs-dir', 'pod-manifest-path'].map(
    (flag) => `--${flag}=${join(folder, 'agent', flag)}`,
  );
  const own = [
    `--container-runtime-endpoint=${containerd.endpoint}`,
    `--socket=${join(folder, 'agent.sock')}`,
    '--healthz-port=0',
    '--eviction-hard=',
  ];
  const program = join(agent, 'dist/nodeagent.js');
  const child = spawn(join(agent, 'bin/node'), [...unitNodeFlags(unit), program, 'run', ...data, ...own], {
    env: { ...process.env, ...unitEnvironment(unit) },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = once(child, 'exit');
  try {
    await started(child);
    child.stderr.resume();
    await pause(IDLE_MS);
    return { value: await residentMiB(child.pid ?? 0) };
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

export const PACKAGED_ROWS: readonly RowOn<PackagedBench>[] = [
  {
    name: 'packaged-server-start',
    title: 'packaged API server: first start on an empty disk → serves',
    unit: 's',
    budget: 1,
    limits: 'value',
    measure: measureStart,
  },
  {
    name: 'packaged-server-memory',
    title: 'packaged API server: resident memory, idle',
    unit: 'MiB',
    budget: 160,
    limits: 'value',
    measure: measureServerMemory,
  },
  {
    name: 'packaged-agent-memory',
    title: 'packaged agent: resident memory, idle without pods',
    unit: 'MiB',
    budget: 120,
    limits: 'value',
    measure: measureAgentMemory,
  },
];
