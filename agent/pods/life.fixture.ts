/** An agent with one pod in a `TestWorld`, for model tests; `restart` creates the next agent of the same
 *  world. */

import type { Pod, PodStatus } from '#api/gen/core-v1.ts';
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { podIdentity } from '../pod-identity/identity.ts';
import type { ProbeVerdict } from '../probes/verdict.ts';
import type { TerminalPhase } from './decide/decision-types.ts';
import { podStatus } from './status/status.ts';
import { PodWorker } from './worker.ts';
import { type CallFate, TestWorld } from './world.fixture.ts';

export interface Life {
  readonly clock: FakeClock;
  readonly world: TestWorld;
  worker(): PodWorker;
  restart(): void;
  remove(): void;
  readonly isRemoving: () => boolean;
  readonly terminal: () => TerminalPhase | undefined;
}

export interface LifeOptions {
  readonly fates?: readonly CallFate[];
  /** Called with each status that an agent publishes. */
  readonly onStatus?: (status: PodStatus) => void;
  readonly probeVerdict?: (containerId: string) => ProbeVerdict | undefined;
}

export function createLife(pod: Pod, { fates = [], onStatus, probeVerdict }: LifeOptions = {}): Life {
  const clock = createFakeClock();
  const world = new TestWorld(() => clock.now());
  world.fates.push(...fates);
  const startedAtMs = clock.now();
  let terminal: TerminalPhase | undefined;
  let removing = false;
  let stop = new AbortController();

  function spawn(adopted: boolean): PodWorker {
    const { signal } = stop;
    const worker = new PodWorker(
      {
        clock,
        log: silentLogger,
        view: world.view,
        operations: world.operations,
        syncProbes: () => undefined,
        probeVerdict: (id) => probeVerdict?.(id),
        save: (changes) => {
          terminal = changes.terminal ?? terminal;
          return Promise.resolve();
        },
        status: (facts) =>
          podStatus({
            ...facts,
            hostIPs: ['192.0.2.1'],
            qosClass: 'BestEffort',
            runtimeName: 'fake',
            nowMs: clock.now(),
          }),
        onStatus(status) {
          // A dead agent publishes nothing.
          if (!signal.aborted) onStatus?.(status);
        },
        warn: () => undefined,
        keepTerminatedVolumes: false,
      },
      { pod, identity: podIdentity(pod), startedAtMs, terminal, adopted },
    );
    void worker.run(stop.signal);
    if (removing) worker.remove(5);
    return worker;
  }

  let worker = spawn(false);
  return {
    clock,
    world,
    worker: () => worker,
    restart() {
      stop.abort(new Error('agent died'));
      stop = new AbortController();
      world.restartAgent();
      if (!world.isRemoved) worker = spawn(true);
    },
    remove() {
      removing = true;
      worker.remove(5);
    },
    isRemoving: () => removing,
    terminal: () => terminal,
  };
}
