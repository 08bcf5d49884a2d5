/** Brings the providers of resources together: finds memory nodes that suit all of them, books, and gives back.
 *  Reasons and order as upstream's topology manager, release 1.24. */
import { asError } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Refusal } from '../admission/admit.ts';
import {
  type ContainerGrant,
  type ContainerRequest,
  type ExtendedResources,
  type HeldResources,
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
  /** In the order in which they are asked. */
  readonly providers: readonly ResourceProvider[];
  readonly log: Logger;
  readonly held?: (podUID: string, container: string) => HeldResources;
  readonly most?: () => HeldResources;
  readonly registry: MetricsRegistry;
}

const NOTHING_HELD: HeldResources = { cpus: [], memory: [] };
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

/** Books everything that the pod's containers ask for, one after the other. */
function createBooking(
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
  readonly asked: () => void;
  readonly refused: () => void;
}

function countAdmissions(registry: MetricsRegistry): AdmissionCounts {
  const asked = registry.counter({
    name: 'topology_manager_admission_requests_total',
    help: 'The number of admission requests where resources have to be aligned.',
  });
  const refused = registry.counter({
    name: 'topology_manager_admission_errors_total',
    help: 'The number of admission request failures where resources could not be aligned.',
  });
  return { asked: () => asked.with().inc(), refused: () => refused.with().inc() };
}

export function createResourceManagers(deps: ManagersDeps, options: TopologySettings): ResourceManagers {
  const { providers, log } = deps;
  const { asked, refused } = countAdmissions(deps.registry);

  const bookAll = createBooking(providers, options);
  const release = (podUID: string): void => {
    for (const provider of providers) provider.release(podUID);
  };

  return {
    admit(pod) {
      if (providers.length === 0) return undefined;
      if (options.policy !== 'none') asked();
      try {
        bookAll(pod);
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
        bookAll(pod);
      } catch (thrown) {
        const err = asError(thrown);
        log.warn(
          { err, pod: pod.metadata?.name },
          'Pod of an earlier agent runs without resources of its own',
        );
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
      const kept = here();
      for (const podUID of holders) if (!kept.has(podUID)) release(podUID);
    },
    resources: () => joinResources(providers.flatMap((provider) => provider.resources?.() ?? [])),
    told() {
      for (const provider of providers) provider.told?.();
    },
    onChange(listener) {
      const ends = providers.flatMap((provider) => provider.onChange?.(listener) ?? []);
      return () => {
        for (const end of ends) end();
      };
    },
    held: (podUID, container) => deps.held?.(podUID, container) ?? NOTHING_HELD,
    most: () => deps.most?.() ?? NOTHING_HELD,
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
