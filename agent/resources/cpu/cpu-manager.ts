/** CPU manager of policy `static`: assigns exclusive CPUs to guaranteed containers, and moves all others off
 *  them. Source: CPU management, document 3 §4.3; upstream's CPU manager, release 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { formatCpuSet, inOrder } from '../../machine/cpu-set.ts';
import type { ContainerRequest, ResourceProvider } from '../contract.ts';
import { requestsOf } from '../requests.ts';
import { staleState } from '../state/state-error.ts';
import type { StateFile } from '../state/state-file.ts';
import { CpuStateError, cpuStateError, formatCpuState, parseCpuState } from './cpu-state.ts';
import { createPinning, type PinningDeps } from './pinning.ts';
import {
  assignCpus,
  type CpuAssignment,
  type CpuRequest,
  cpuHints,
  exclusiveCpus,
  podCpuHints,
  releasePods,
  type StaticPolicy,
  sharedCpus,
} from './static-policy.ts';

const POLICY = 'static';

export interface CpuManager extends ResourceProvider {
  /** Exclusive CPUs; empty for a container in the shared pool. */
  held(podUID: string, container: string): readonly number[];
  /** CPUs that may be assigned exclusively. */
  most(): readonly number[];
}

export interface CpuManagerDeps extends Omit<PinningDeps, 'wanted'> {
  readonly file: StateFile;
  readonly registry: MetricsRegistry;
}

export interface CpuManagerOptions {
  readonly policy: StaticPolicy;
  readonly reconcilePeriodMs: number;
}

/** Reads the persisted assignments. @throws ResourceStateError */
async function readCpuState(file: StateFile, policy: StaticPolicy): Promise<readonly CpuAssignment[]> {
  const text = await file.read();
  if (text === undefined) return [];
  try {
    const state = parseCpuState(text);
    if (state.policy !== POLICY) {
      throw staleState(file.path, `was written with the CPU manager policy ${state.policy}, not ${POLICY}`);
    }
    // Written before the shared pool was initialized.
    if (state.shared.size === 0 && state.assignments.length === 0) return [];
    const error = cpuStateError(state, policy);
    if (error !== undefined) throw staleState(file.path, error);
    return state.assignments;
  } catch (thrown) {
    if (thrown instanceof CpuStateError) throw staleState(file.path, thrown.message, thrown);
    throw thrown;
  }
}

function cpuRequest({ pod, container, init }: ContainerRequest): Omit<CpuRequest, 'nodes'> {
  const count = exclusiveCpus(pod, container);
  return { podUID: pod.metadata?.uid ?? '', container: container.name, count, init };
}

interface PinningCounts {
  readonly requested: () => void;
  readonly failed: () => void;
}

function countPinnings(registry: MetricsRegistry): PinningCounts {
  const requested = registry.counter({
    name: 'cpu_manager_pinning_requests_total',
    help: 'The number of cpu core allocations which required pinning.',
  });
  const failed = registry.counter({
    name: 'cpu_manager_pinning_errors_total',
    help: 'The number of cpu core allocations which required pinning failed.',
  });
  return { requested: () => requested.with().inc(), failed: () => failed.with().inc() };
}

/** @throws ResourceStateError */
export async function createCpuManager(
  deps: CpuManagerDeps,
  { policy, reconcilePeriodMs }: CpuManagerOptions,
): Promise<CpuManager> {
  const { file } = deps;
  const counts = countPinnings(deps.registry);
  let assignments = await readCpuState(file, policy);
  /** The last grants by pod and container, until the container has been created. */
  const granted = new Map<string, string>();

  const own = (podUID: string, container: string): CpuAssignment | undefined =>
    assignments.find((one) => one.podUID === podUID && one.container === container);
  const wanted = (podUID: string, container: string): string =>
    formatCpuSet(own(podUID, container)?.cpus ?? sharedCpus(policy, assignments));
  const pinning = createPinning({ ...deps, wanted }, reconcilePeriodMs);

  function take(next: readonly CpuAssignment[]): void {
    if (next === assignments) return;
    assignments = next;
    save();
    pinning.wake();
  }
  const save = (): void =>
    file.save(formatCpuState({ policy: POLICY, shared: sharedCpus(policy, assignments), assignments }));
  save();

  return {
    name: 'cpu',
    hints: (request) => ({ cpu: cpuHints(policy, assignments, cpuRequest(request)) }),
    podHints: (pod: Pod) => ({
      cpu: podCpuHints(policy, assignments, pod.metadata?.uid ?? '', requestsOf(pod).map(cpuRequest)),
    }),
    allocate(request, { nodes }) {
      const requested = cpuRequest(request);
      if (requested.count === 0 || own(requested.podUID, requested.container) !== undefined) return;
      counts.requested();
      try {
        take(assignCpus(policy, assignments, { ...requested, ...(nodes === undefined ? {} : { nodes }) }));
      } catch (thrown) {
        counts.failed();
        throw thrown;
      }
    },
    holders: () => new Set(assignments.map(({ podUID }) => podUID)),
    release(podUID) {
      const left = releasePods(assignments, (one) => one === podUID);
      if (left.length !== assignments.length) take(left);
    },
    async grant({ pod, container }) {
      await file.saved();
      const podUID = pod.metadata?.uid ?? '';
      const cpusetCpus = wanted(podUID, container.name);
      granted.set(`${podUID}/${container.name}`, cpusetCpus);
      return { cpusetCpus };
    },
    started(podUID, container, containerId) {
      const key = `${podUID}/${container}`;
      const cpus = granted.get(key);
      granted.delete(key);
      if (cpus !== undefined) pinning.created(containerId, cpus);
    },
    run: (signal) => pinning.run(signal),
    held: (podUID, container) => inOrder(own(podUID, container)?.cpus ?? new Set()),
    most: () => inOrder(policy.topology.all).filter((cpu) => !policy.reserved.has(cpu)),
  };
}
