/** Dependencies of controllers for tests: built-in resources on a store in memory, and a clock that the test
 *  advances. */
import { createFakeClock, type FakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Steps } from '#api/kit/steps.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createCache } from '../../cache/cache.ts';
import { builtinResources } from '../../resources/builtin.ts';
import { coreKinds } from '../../resources/core/table.ts';
import { groupKinds } from '../../resources/groups/table.ts';
import { createResourceRegistry } from '../../resources/registry.ts';
import { createMemoryStore } from '../../store/memory-store.fixture.ts';
import { createTestAdmission } from '../../verbs/admission.fixture.ts';
import { createVerbs } from '../../verbs/verbs.ts';
import { createChildren } from '../workloads-kit/children.ts';
import { podFacts } from '../workloads-kit/pod-facts.ts';
import type { ControllerHost } from './run.ts';
import type { ControllerSettings } from './settings.ts';

export interface MemoryPlane {
  readonly host: ControllerHost & { readonly clock: FakeClock };
  readonly stop: AbortController;
}

const unused = (): never => {
  throw new Error('not available in this test');
};

/** Settings of a server without aggregated servers. */
const SETTINGS: ControllerSettings = {
  authorizer: { authorize: unused },
  tokenIssuer: { issueStored: unused },
  rootAuthority: () => 'PEM',
  onTrustChange: () => () => undefined,
  signing: {
    authorityOf: unused,
    longestMs: 3_600_000,
  },
  clusterInfo: { content: () => '{}', reset: true },
  nodeHealth: { graceMs: 40_000, startupGraceMs: 60_000 },
  terminatedPods: 0,
  pendingCharges: { of: () => [] },
  otherContent: undefined,
  autoscaler: {
    limits: {
      syncPeriodMs: 15_000,
      downscaleWindowMs: 300_000,
      tolerance: 0.1,
      cpuInitializationMs: 300_000,
      initialReadinessMs: 30_000,
    },
    collector: { prepare: () => Promise.resolve(), seriesOf: () => undefined },
    aggregated: undefined,
  },
  nodeRanges: { cluster: [], excluded: [] },
  callAgent: unused,
};

export async function createMemoryPlane(): Promise<MemoryPlane> {
  const vocabulary = VOCABULARIES.plat;
  const store = createMemoryStore();
  const clock = createFakeClock();
  const allocation = { repair: () => Promise.reject(new Error('no services here')) };
  const kinds = {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- no test of controllers creates services
    ...coreKinds({ vocabulary, allocation: allocation as never, eventTtlSeconds: 3600 }),
    ...groupKinds({ vocabulary }),
  };
  const gates = new Set<string>();
  const registry = createResourceRegistry(builtinResources({ vocabulary, gates, kinds }));
  const cache = createCache({ store, clock, log: silentLogger, random: () => 0.5 }, { flushMs: 0 });
  for (const { stored, storage, strategy } of registry.all())
    if (stored === undefined) cache.resource(storage, strategy.selectableFields ?? {});
  const stop = new AbortController();
  await cache.start(stop.signal);
  const admission = createTestAdmission([]);
  function* track(): Steps<void> {}
  const verbs = createVerbs({ store, cache, admission, clock, vocabulary, gates, track });
  const pods = registry.find('', 'v1', 'pods') ?? unused();
  const host = {
    registry,
    cache,
    verbs,
    clock,
    vocabulary,
    gates,
    settings: SETTINGS,
    log: silentLogger,
    pods: () => createChildren(cache.resource(pods.storage), podFacts),
  };
  return { host, stop };
}
