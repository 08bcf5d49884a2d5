/** Rows of the fleet: one run, from registration to a rolling update, measured by phase. */
import type { RowOn } from '../row.ts';
import type { Measurement } from '../table.ts';
import type { FleetRun } from './run.ts';
import { worstVerb } from './run.ts';

type FleetRow = RowOn<FleetRun>;

const seconds = (ms: number): string => `${(ms / 1000).toFixed(2)} s`;
const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

async function measureRegistration(run: FleetRun): Promise<Measurement> {
  const { registration } = await run.figures();
  const { serverCpuSeconds, serverMiB } = registration;
  const detail = `${run.size.agents} agents; server ${serverCpuSeconds.toFixed(1)} s of CPU, ${serverMiB.toFixed(0)} MiB`;
  return { value: registration.seconds, detail };
}

async function measureStarts(run: FleetRun): Promise<Measurement> {
  const { fill } = await run.figures();
  const { starts, binds, seconds: took } = fill;
  if (starts === undefined || binds === undefined) throw new Error('no pod was created');
  const rate = (starts.count / took).toFixed(0);
  return {
    value: starts.p99Ms / 1000,
    detail: `${starts.count} pods at ${rate}/s; p50 ${seconds(starts.p50Ms)}; on a node p99 ${seconds(binds.p99Ms)}`,
  };
}

async function measureRollout(run: FleetRun): Promise<Measurement> {
  const { rollout } = await run.figures();
  const { starts, seconds: took, serverCpuSeconds } = rollout;
  const p99 = starts === undefined ? 'none started' : `pod start p99 ${seconds(starts.p99Ms)}`;
  return {
    value: took,
    detail: `${starts?.count ?? 0} pods; ${p99}; server ${serverCpuSeconds.toFixed(1)} s of CPU`,
  };
}

async function measureVerbs(run: FleetRun): Promise<Measurement> {
  const { phases } = await run.figures();
  const worst = worstVerb(phases);
  return { value: worst.p99Ms / 1000, detail: `${worst.verb} during ${worst.phase}` };
}

async function measureWatch(run: FleetRun): Promise<Measurement> {
  const { watch } = await run.figures();
  return { value: watch.p99Ms / 1000, detail: `${watch.count} writes; p50 ${ms(watch.p50Ms)}` };
}

async function measureSteady(run: FleetRun): Promise<Measurement> {
  const { steady } = await run.figures();
  const { serverCpuSeconds, agentsCpuSeconds, seconds: took, loopP99Ms, agentsMiB } = steady;
  const perAgent = (agentsCpuSeconds / took / run.size.agents) * 100;
  const agents = `an agent ${perAgent.toFixed(3)} %, ${(agentsMiB / run.size.agents).toFixed(1)} MiB`;
  return {
    value: (serverCpuSeconds / took) * 100,
    detail: `${agents}; server loop lag p99 ${ms(loopP99Ms)}`,
  };
}

async function measureMemory(run: FleetRun): Promise<Measurement> {
  const { phases } = await run.figures();
  const [most] = phases.map(({ serverMiB }) => serverMiB).toSorted((a, b) => b - a);
  return {
    value: most ?? 0,
    detail: phases.map(({ name, serverMiB }) => `${name} ${serverMiB.toFixed(0)}`).join(', '),
  };
}

export const FLEET_ROWS: readonly FleetRow[] = [
  {
    name: 'fleet-register',
    title: 'Fleet: agents started → all nodes ready',
    unit: 's',
    budget: 180,
    limits: 'value',
    measure: measureRegistration,
  },
  {
    name: 'fleet-start',
    title: 'Fleet: pod created → running on the API, p99',
    unit: 's',
    budget: 5,
    limits: 'value',
    measure: measureStarts,
  },
  {
    name: 'fleet-rollout',
    title: 'Fleet: rolling update of a fifth',
    unit: 's',
    budget: 120,
    limits: 'value',
    measure: measureRollout,
  },
  {
    name: 'fleet-calls',
    title: 'Fleet: API calls, p99 of the slowest verb',
    unit: 's',
    budget: 1,
    limits: 'value',
    measure: measureVerbs,
  },
  {
    name: 'fleet-watch',
    title: 'Fleet: write sent → seen by a watcher, p99',
    unit: 's',
    budget: 1,
    limits: 'value',
    measure: measureWatch,
  },
  {
    name: 'fleet-cpu',
    title: 'Fleet: idle server with pods, CPU of one core',
    unit: '%',
    budget: 50,
    limits: 'value',
    measure: measureSteady,
  },
  {
    name: 'fleet-memory',
    title: 'Fleet: resident memory of the server',
    unit: 'MiB',
    budget: 1500,
    limits: 'value',
    measure: measureMemory,
  },
];
