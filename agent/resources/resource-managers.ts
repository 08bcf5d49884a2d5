/** Combines the resource providers: merges their NUMA hints, reserves, and releases.
 *  Reasons and order as upstream's topology manager, release 1.24. */

import type { Pod } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { Refusal } from '../admission/admit.ts';
import { type ExtendedResources } from '../machine/extended-resources.ts';
import {
  type AllocatedResources,
  type ContainerGrant,
  type ContainerRequest,
  joinGrants,
  joinRecords,
  type ResourceManagers,
  type ResourceProvider,
  ResourceRefusal,
} from './contract.ts';
import { requestsOf } from './requests.ts';
import { decideTopology, type ProviderHints, type TopologyHint } from './topology/hints.ts';
import type { TopologySettings } from './topology/topology-settings.ts';

export interface ManagersDeps {
  /** In the order in which they are called. */
  readonly providers: readonly ResourceProvider[];
  readonly log: Logger;
  readonly held?: (podUID: string, container: string) => AllocatedResources;
  readonly most?: () => AllocatedResources;
  readonly registry: MetricsRegistry;
}

const NOTHING_ALLOCATED: AllocatedResources = { cpus: [], memory: [] };
const ANYWHERE: TopologyHint = { nodes: undefined, preferred: false };
const UNEXPECTED = 'UnexpectedAdmissionError';
const NOT_TOGETHER: Refusal = {
  reason: 'TopologyAffinityError',
  message: 'Resources cannot be allocated with Topology locality',
};

class NotTogetherError extends ResourceRefusal {
  override readonly name = 'NotTogetherError';

  constructor() {
    super(NOT_TOGETHER.reason, NOT_TOGETHER.message);
  }
}

/** Reserves the requests of all containers of the pod, one after the other. */
function createReservation(
  providers: readonly ResourceProvider[],
  { policy, scope, nodes }: TopologySettings,
): (pod: Pod) => void {
  const decide = (hintsOf: (provider: ResourceProvider) => ProviderHints): TopologyHint => {
    const { hint, admit } = decideTopology(policy, providers.map(hintsOf), nodes);
    if (!admit) throw new NotTogetherError();
    return hint;
  };
  const whereFor = (pod: Pod): ((request: ContainerRequest) => TopologyHint) => {
    if (policy === 'none') return () => ANYWHERE;
    if (scope === 'container') return (request) => decide((provider) => provider.hints(request));
    const together = decide((provider) => provider.podHints(pod));
    return () => together;
  };
  return (pod) => {
    const where = whereFor(pod);
    for (const request of requestsOf(pod)) {
      const hint = where(request);
      for (const provider of providers) provider.allocate(request, hint);
    }
  };
}

interface AdmissionCounts {
  readonly requested: () => void;
  readonly refused: () => void;
}

function countAdmissions(registry: MetricsRegistry): AdmissionCounts {
  const requested = registry.counter({
    name: 'topology_manager_admission_requests_total',
    help: 'The number of admission requests where resources have to be aligned.',
  });
  const refused = registry.counter({
    name: 'topology_manager_admission_errors_total',
    help: 'The number of admission request failures where resources could not be aligned.',
  });
  return { requested: () => requested.with().inc(), refused: () => refused.with().inc() };
}

export function createResourceManagers(deps: ManagersDeps, options: TopologySettings): ResourceManagers {
  const { providers, log } = deps;
  const { requested, refused } = countAdmissions(deps.registry);

  const reserveAll = createReservation(providers, options);
  const release = (podUID: string): void => {
    for (const provider of providers) provider.release(podUID);
  };

  return {
    admit(pod) {
      if (providers.length === 0) return undefined;
      if (options.policy !== 'none') requested();
      try {
        reserveAll(pod);
        return undefined;
      } catch (thrown) {
        release(pod.metadata?.uid ?? '');
        if (thrown instanceof NotTogetherError) refused();
        return asRefusal(thrown);
      }
    },
    adopt(pod) {
      if (providers.length === 0) return;
      try {
        reserveAll(pod);
      } catch (thrown) {
        const err = asError(thrown);
        log.warn({ err, pod: pod.metadata?.name }, 'Failed to restore exclusive resources of adopted pod');
      }
    },
    async grant(pod, { name }) {
      const request = requestsOf(pod).find(({ container }) => container.name === name) ?? {
        pod,
        container: { name },
        init: false,
      };
      const grants: ContainerGrant[] = [];
      for (const provider of providers) grants.push((await provider.grant?.(request)) ?? {});
      return joinGrants(grants);
    },
    started(podUID, container, containerId) {
      for (const provider of providers) provider.started?.(podUID, container, containerId);
    },
    release,
    keepOnly(here) {
      const holders = new Set(providers.flatMap((provider) => [...provider.holders()]));
      if (holders.size === 0) return;
      const present = here();
      for (const podUID of holders) if (!present.has(podUID)) release(podUID);
    },
    resources: () => joinResources(providers.flatMap((provider) => provider.resources?.() ?? [])),
    statusWritten() {
      for (const provider of providers) provider.statusWritten?.();
    },
    onChange(listener) {
      const ends = providers.flatMap((provider) => provider.onChange?.(listener) ?? []);
      return () => {
        for (const end of ends) end();
      };
    },
    held: (podUID, container) => deps.held?.(podUID, container) ?? NOTHING_ALLOCATED,
    most: () => deps.most?.() ?? NOTHING_ALLOCATED,
    async run(signal) {
      await Promise.all(providers.flatMap((provider) => provider.run?.(signal) ?? []));
    },
  };
}

function asRefusal(thrown: unknown): Refusal {
  const { message } = asError(thrown);
  if (thrown instanceof ResourceRefusal && thrown.reason !== UNEXPECTED) {
    return { reason: thrown.reason, message };
  }
  return { reason: UNEXPECTED, message: `Allocate failed due to ${message}, which is unexpected` };
}

const joinResources = (all: readonly ExtendedResources[]): ExtendedResources => ({
  capacity: joinRecords(all.map(({ capacity }) => capacity)),
  allocatable: joinRecords(all.map(({ allocatable }) => allocatable)),
  removed: all.flatMap(({ removed }) => removed),
  ...(all.some(({ forgotten }) => forgotten) ? { forgotten: true } : {}),
});
