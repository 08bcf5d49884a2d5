/** Phases of a fleet run, and their measurements. */
import { setTimeout as wait } from 'node:timers/promises';
import { cpuSeconds, residentMiB } from '../process.ts';
import { type Fleet, untilTrue } from './fleet.ts';
import { percentile } from './percentile.ts';
import { type VerbTimes, verbTimes } from './verb-times.ts';
import { createDeployment, NEXT_REVISION, updateDeployment } from './workload.ts';

export interface PhaseFigures {
  readonly name: string;
  readonly seconds: number;
  /** CPU time of the server, and of all agent processes together. */
  readonly serverCpuSeconds: number;
  readonly agentsCpuSeconds: number;
  readonly serverMiB: number;
  readonly agentsMiB: number;
  readonly verbs: readonly VerbTimes[];
  readonly loopP99Ms: number;
  readonly loopMaxMs: number;
  /** For pods created during the phase: from creation to running. */
  readonly starts: { readonly count: number; readonly p50Ms: number; readonly p99Ms: number } | undefined;
  readonly binds: { readonly p50Ms: number; readonly p99Ms: number } | undefined;
}

export async function measurePhase(
  fleet: Fleet,
  name: string,
  work: () => Promise<void>,
): Promise<PhaseFigures> {
  const { server, plane, agents, pods } = fleet;
  fleet.say(`${name} …`);
  const [before, cpuBefore, agentsBefore] = await Promise.all([
    server.figures(),
    cpuSeconds(plane.pid),
    agents.use(),
  ]);
  const startMs = performance.now();
  await work();
  const seconds = (performance.now() - startMs) / 1000;
  const [after, cpuAfter, agentsAfter, serverMiB] = await Promise.all([
    server.figures(),
    cpuSeconds(plane.pid),
    agents.use(),
    residentMiB(plane.pid),
  ]);
  const [errors] = agents.errors();
  if (errors !== undefined) throw new Error(`an agent failed: ${errors}`);
  const startsMs = pods.startsMs(startMs);
  const bindsMs = pods.bindsMs(startMs);
  const figures: PhaseFigures = {
    name,
    seconds,
    serverCpuSeconds: cpuAfter - cpuBefore,
    agentsCpuSeconds: agentsAfter.cpuSeconds - agentsBefore.cpuSeconds,
    serverMiB,
    agentsMiB: agentsAfter.residentMiB,
    verbs: verbTimes(before.verbs, after.verbs),
    loopP99Ms: after.loopP99Ms,
    loopMaxMs: after.loopMaxMs,
    starts: startsMs.length === 0 ? undefined : { count: startsMs.length, ...spread(startsMs) },
    binds: bindsMs.length === 0 ? undefined : spread(bindsMs),
  };
  fleet.say(phaseText(figures));
  return figures;
}

const milliseconds = (ms: number): string => `${ms.toFixed(ms < 10 ? 1 : 0)} ms`;

/** Returns one line about a phase, printed at once because a later phase may fail. */
export function phaseText(figures: PhaseFigures): string {
  const { name, seconds, serverCpuSeconds, agentsCpuSeconds, serverMiB, agentsMiB, starts } = figures;
  const verbs = figures.verbs.map(
    ({ verb, count, p50Ms, p99Ms }) => `${verb} ${count} ${milliseconds(p50Ms)}/${milliseconds(p99Ms)}`,
  );
  return [
    `${name}: ${seconds.toFixed(1)} s`,
    `server ${serverCpuSeconds.toFixed(1)} s of CPU, ${serverMiB.toFixed(0)} MiB`,
    `loop lag p99 ${milliseconds(figures.loopP99Ms)}, max ${milliseconds(figures.loopMaxMs)}`,
    `agents ${agentsCpuSeconds.toFixed(1)} s of CPU, ${agentsMiB.toFixed(0)} MiB`,
    ...(starts === undefined
      ? []
      : [`${starts.count} pods started in ${milliseconds(starts.p50Ms)}/${milliseconds(starts.p99Ms)}`]),
    ...verbs,
  ].join('; ');
}

const spread = (values: readonly number[]): { readonly p50Ms: number; readonly p99Ms: number } => ({
  p50Ms: percentile(values, 0.5),
  p99Ms: percentile(values, 0.99),
});

const LIMIT_MS = 600_000;
/** Replicas of a Deployment, except in small fleets. */
const REPLICAS = 50;

export const registration = (fleet: Fleet): Promise<PhaseFigures> =>
  measurePhase(fleet, 'registration', () =>
    untilTrue(() => fleet.readyNodes() >= fleet.size.agents, LIMIT_MS, 'all nodes are ready'),
  );

export const steady = (fleet: Fleet, name: string, forMs: number): Promise<PhaseFigures> =>
  measurePhase(fleet, name, () => wait(forMs));

const replicasOf = ({ size }: Fleet): number => Math.max(1, Math.min(REPLICAS, Math.ceil(size.pods / 4)));

const deploymentsOf = (fleet: Fleet): number => Math.ceil(fleet.size.pods / replicasOf(fleet));

/** Creates all pods at the requested rate. */
export const fill = (fleet: Fleet): Promise<PhaseFigures> =>
  measurePhase(fleet, 'fill', async () => {
    const replicas = replicasOf(fleet);
    const startMs = performance.now();
    for (let index = 0; index < deploymentsOf(fleet); index += 1) {
      const earlyMs = startMs + (index * replicas * 1000) / fleet.size.podsPerSecond - performance.now();
      if (earlyMs > 0) await wait(earlyMs);
      await createDeployment(fleet.server, index, Math.min(replicas, fleet.size.pods - index * replicas));
    }
    await untilTrue(() => fleet.pods.ready >= fleet.size.pods, LIMIT_MS, 'all pods are running');
  });

/** Gives a share of the pods a new revision, updating all their Deployments at the same time. */
export const rollOut = (fleet: Fleet, share: number): Promise<PhaseFigures> =>
  measurePhase(fleet, 'rolling update', async () => {
    const replicas = replicasOf(fleet);
    const count = Math.max(1, Math.floor(deploymentsOf(fleet) * share));
    for (let index = 0; index < count; index += 1) await updateDeployment(fleet.server, index);
    await untilTrue(
      () =>
        fleet.pods.readyOf(NEXT_REVISION) >= Math.min(count * replicas, fleet.size.pods) &&
        fleet.pods.count === fleet.size.pods,
      LIMIT_MS,
      'the new revision is running and the old one is gone',
    );
  });
