/** Wires pod admission. */
import {
  type AdmissionLimits,
  OUT_OF_PODS,
  type Preemption,
  type Refusal,
  refusal,
} from '../../admission/admit.ts';
import { roomFor } from '../../admission/node-capacity.ts';
import { isCritical, parseAmounts } from '../../admission/resource-fit.ts';
import { staticPods } from '../../admission/static-pods.ts';
import { decideAllocatable, decideCapacity } from '../../machine/capacity.ts';
import { readHardware } from '../../machine/read-machine.ts';
import { type CapacityRetry, createCapacityRetry, isCapacityRejection } from '../../pods/capacity-retry.ts';
import type { PodManager, PodManagerDeps } from '../../pods/pod-manager.ts';
import { resourceRules } from '../../registration/settings.ts';
import type { ResourceManagers } from '../../resources/contract.ts';
import { NOT_ADMITTED } from '../../shutdown/ended-pods.ts';
import type { SourcePod } from '../../sources/types.ts';
import type { Base } from '../base.ts';
import type { ServerParts } from '../server-parts.ts';
import { createPressureRejection } from './pressure-rejection.ts';

type Refuse = PodManagerDeps['refuse'];

export interface AdmissionSubsystem {
  readonly refuse: Refuse;
  /** Pods waiting for capacity; undefined on a node with an API server, whose controllers create
   *  replacements. */
  readonly waiting: CapacityRetry | undefined;
}

export interface AdmissionParts {
  readonly server: ServerParts | undefined;
  readonly resources: Pick<ResourceManagers, 'admit'>;
  /** Returns the pod manager, once it exists. */
  readonly pods: () => PodManager;
}

/** On a standalone node no scheduler has checked the requests of pods. Checks them against the allocatable
 *  resources at the start of the agent, computed as for a joined node. */
async function standaloneRoom({ config }: Base): Promise<Refuse> {
  const rules = resourceRules(config);
  const capacity = decideCapacity({}, await readHardware({ rootDir: config.rootDir }), rules);
  const room = {
    allocatable: parseAmounts(decideAllocatable(capacity, rules)),
    isStatic: staticPods(false),
    mayPreempt: ({ pod }: SourcePod) => isCritical(pod),
  };
  return (source, others) => roomFor(source, others, room);
}

/** Admits no pods while the machine shuts down. */
const unlessDown =
  ({ shutdown }: Base, refuse: Refuse): Refuse =>
  (source, others) =>
    shutdown.active() ? NOT_ADMITTED : refuse(source, others);

/** Checks the limits of the node first. A critical pod may preempt others, which is decided together with the
 *  capacity. */
function createRefuse(
  base: Base,
  limits: AdmissionLimits,
  room: Refuse,
  resources: AdmissionParts['resources'],
): Refuse {
  const underPressure = createPressureRejection(base);
  return (source, others): Refusal | Preemption | undefined => {
    const short = underPressure(source);
    if (short !== undefined) return short;
    const own = refusal(
      source.pod,
      others.map(({ pod }) => pod),
      limits,
    );
    if (own !== undefined && own.reason !== OUT_OF_PODS) return own;
    const verdict = room(source, others) ?? own;
    if (verdict !== undefined && !('victims' in verdict)) return verdict;
    // Last, since it allocates resources.
    return resources.admit(source.pod) ?? verdict;
  };
}

export async function createAdmissionSubsystem(
  base: Base,
  { server, resources, pods }: AdmissionParts,
): Promise<AdmissionSubsystem> {
  const limits = { ...base.config, cores: base.settings.cores };
  const room = server?.refuse ?? (await standaloneRoom(base));
  const refuse = unlessDown(base, createRefuse(base, limits, room, resources));
  if (server !== undefined) return { refuse, waiting: undefined };
  const waiting = createCapacityRetry({
    entries: () => pods().entries(),
    occupants: () => pods().occupants(),
    refuse: unlessDown(base, room),
    restart: (podUID) => pods().restart(podUID),
  });
  return {
    waiting,
    refuse(source, others) {
      const verdict = refuse(source, others);
      const isRefused = verdict !== undefined && !('victims' in verdict);
      if (isRefused && isCapacityRejection(verdict.reason)) waiting.note(source.pod.metadata?.uid ?? '');
      return verdict;
    },
  };
}
