/** One run of a fleet through all phases. */
import { join } from 'node:path';
import { bundle, PLANE_ENTRIES } from '../../scripts/bundle.ts';
import { createTempDir } from '../../testing/temp.ts';
import { type FleetSize, startFleet } from './fleet.ts';
import { fill, type PhaseFigures, registration, rollOut, steady } from './phases.ts';
import { startWatchProbe, type WatchTimes } from './watch-probe.ts';

export interface FleetFigures {
  readonly registration: PhaseFigures;
  readonly fill: PhaseFigures;
  readonly steady: PhaseFigures;
  readonly rollout: PhaseFigures;
  readonly phases: readonly PhaseFigures[];
  readonly watch: WatchTimes;
}

export interface FleetRun {
  readonly size: FleetSize;
  /** Runs the fleet once; later calls return the same figures. */
  readonly figures: () => Promise<FleetFigures>;
}

export const LARGE: FleetSize = {
  agents: 1000,
  pods: 10_000,
  processes: 2,
  agentsPerSecond: 8,
  podsPerSecond: 50,
};

const STEADY_MS = 30_000;
/** Share of the pods in a rolling update. */
const ROLLED_OUT = 0.2;

/** Disposing of the stack stops and removes everything. */
export async function setUpFleet(
  size: FleetSize,
  stack: AsyncDisposableStack,
  say: (line: string) => void,
): Promise<FleetRun> {
  const folder = stack.use(await createTempDir('na-fleet-'));
  const program = join(folder.path, 'program');
  say('bundling the API server');
  await bundle(program, PLANE_ENTRIES);
  let figures: Promise<FleetFigures> | undefined;
  return {
    size,
    figures() {
      const main = join(program, 'control-plane-lite.js');
      figures ??= runFleet({ size, dir: folder.path, program: main, say, steadyMs: STEADY_MS }, stack);
      return figures;
    },
  };
}

export interface RunOptions {
  readonly size: FleetSize;
  readonly dir: string;
  /** Program of the API server for Node. */
  readonly program: string;
  readonly say: (line: string) => void;
  /** Duration of the idle phases in ms. */
  readonly steadyMs: number;
}

export async function runFleet(options: RunOptions, stack: AsyncDisposableStack): Promise<FleetFigures> {
  const fleet = await startFleet(options, stack);
  const registered = await registration(fleet);
  const probing = new AbortController();
  const probe = await startWatchProbe(fleet.server, probing.signal);
  stack.defer(async () => {
    probing.abort();
    await probe.done;
  });
  const idle = await steady(fleet, 'idle without pods', options.steadyMs);
  const filled = await fill(fleet);
  const rest = await steady(fleet, 'idle', options.steadyMs);
  const rollout = await rollOut(fleet, ROLLED_OUT);
  return {
    registration: registered,
    fill: filled,
    steady: rest,
    rollout,
    phases: [registered, idle, filled, rest, rollout],
    watch: probe.times(),
  };
}

export interface WorstVerb {
  readonly phase: string;
  readonly verb: string;
  readonly p99Ms: number;
}

/** Returns the slowest verb of any phase by its 99th percentile. @throws Error if there were no requests */
export function worstVerb(phases: readonly PhaseFigures[]): WorstVerb {
  const all = phases.flatMap(({ name, verbs }) =>
    verbs.map(({ verb, p99Ms }): WorstVerb => ({ phase: name, verb, p99Ms })),
  );
  const [worst] = all.toSorted((a, b) => b.p99Ms - a.p99Ms);
  if (worst === undefined) throw new Error('the server received no request');
  return worst;
}
