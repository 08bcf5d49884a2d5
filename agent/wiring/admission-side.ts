/** Which pods the node takes on, wired. */
import {
  type AdmissionLimits,
  OUT_OF_PODS,
  type Preemption,
  type Refusal,
  refusal,
} from '../admission/admit.ts';
import { roomFor } from '../admission/node-room.ts';
import { isCritical, parseAmounts } from '../admission/resource-fit.ts';
import { staticPods } from '../admission/static-pods.ts';
import type { PodManager, PodManagerDeps } from '../pods/pod-manager.ts';
import { createWaitingForRoom, isForWantOfRoom, type WaitingForRoom } from '../pods/waiting-for-room.ts';
import { readHardware } from '../registration/machine/read-machine.ts';
import { decideAllocatable, decideCapacity } from '../registration/resources.ts';
import { resourceRules } from '../registration/settings.ts';
import type { ResourceManagers } from '../resources/contract.ts';
import { NOT_ADMITTED } from '../shutdown/ended-pods.ts';
import type { SourcePod } from '../sources/types.ts';
import type { Base } from './base.ts';
import { createPressureRefusal } from './pressure-refusal.ts';
import type { ServerParts } from './server-parts.ts';

type Refuse = PodManagerDeps['refuse'];

export interface AdmissionSide {
  readonly refuse: Refuse;
  /** Pods that may come when there is room; undefined for a node of a server, which has others made. */
  readonly waiting: WaitingForRoom | undefined;
}

export interface AdmissionParts {
  readonly server: ServerParts | undefined;
  readonly resources: Pick<ResourceManagers, 'admit'>;
  /** Called when there are some. */
  readonly pods: () => PodManager;
}

/** On a node without a server nobody has weighed what pods ask for before they come. By what the machine has at the
 *  start of the agent, as a node of a server would tell it there. */
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

/** Nothing is taken on while the machine shuts down. */
const unlessDown =
  ({ shutdown }: Base, refuse: Refuse): Refuse =>
  (source, others) =>
    shutdown.active() ? NOT_ADMITTED : refuse(source, others);

/** The node's own limits first. A place for a critical pod may be made, which is decided with the room there is. */
function createRefuse(
  base: Base,
  limits: AdmissionLimits,
  room: Refuse,
  resources: AdmissionParts['resources'],
): Refuse {
  const underPressure = createPressureRefusal(base);
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
    // Last, as it books what it gives.
    return resources.admit(source.pod) ?? verdict;
  };
}

export async function createAdmissionSide(
  base: Base,
  { server, resources, pods }: AdmissionParts,
): Promise<AdmissionSide> {
  const limits = { ...base.config, cores: base.settings.cores };
  const room = server?.refuse ?? (await standaloneRoom(base));
  const refuse = unlessDown(base, createRefuse(base, limits, room, resources));
  if (server !== undefined) return { refuse, waiting: undefined };
  const waiting = createWaitingForRoom({
    entries: () => pods().entries(),
    refuse: unlessDown(base, room),
    renew: (podUID) => pods().renew(podUID),
  });
  return {
    waiting,
    refuse(source, others) {
      const verdict = refuse(source, others);
      const isRefused = verdict !== undefined && !('victims' in verdict);
      if (isRefused && isForWantOfRoom(verdict.reason)) waiting.note(source.pod.metadata?.uid ?? '');
      return verdict;
    },
  };
}
