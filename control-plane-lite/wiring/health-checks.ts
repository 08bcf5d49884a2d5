/** Checks of the health endpoints, with upstream's names and in its order, so that exclusions in probes and runbooks apply
 *  here as well. Checks of upstream's components without a counterpart here are not listed. */
import type { Vocabulary } from '#api/vocabulary.ts';
import { type HealthCheck, PassingStateError } from '../http/health/health.ts';
import type { Store } from '../store/contract.ts';

/** Names that checks had before they had upstream's. */
const EARLIER_NAMES: ReadonlyMap<string, string> = new Map([
  ['etcd', 'store'],
  ['informer-sync', 'cache-sync'],
  ['rbac/bootstrap-roles', 'bootstrap'],
]);

export interface HealthDeps {
  readonly store: Pick<Store, 'currentRevision'>;
  readonly vocabulary: Pick<Vocabulary, 'componentPrefix'>;
}

export interface HealthState {
  /** Whether the store's objects are known. */
  readonly cacheSynced: () => boolean;
  /** Whether the objects that every server begins with are there. */
  readonly begun: () => boolean;
  /** How far the groups of other servers are; absent: they are not served. */
  readonly aggregation: AggregationState | undefined;
}

export interface AggregationState {
  /** Extension servers can read whom to believe. */
  readonly trustPublished: () => boolean;
  /** Each group's version of this server has its APIService. */
  readonly registered: () => boolean;
}

interface Hooks {
  readonly reason: string;
  readonly holds: () => boolean;
  readonly names: readonly string[];
}

/** Names of upstream's hooks, with what has to hold here for each. */
function hooksOf({ cacheSynced, begun, aggregation }: HealthState, prefix: string): readonly Hooks[] {
  const cache = { reason: 'the cache does not follow the store', holds: cacheSynced };
  const beginning = {
    reason: 'the objects that every server begins with have not all been created',
    holds: begun,
  };
  const own = [
    { ...beginning, names: [`start-${prefix}-apiserver-admission-initializer`] },
    {
      ...cache,
      names: [
        'generic-apiserver-start-informers',
        'start-apiextensions-informers',
        'start-apiextensions-controllers',
        'crd-informer-synced',
      ],
    },
    {
      ...beginning,
      names: ['bootstrap-controller', 'rbac/bootstrap-roles', 'scheduling/bootstrap-system-priority-classes'],
    },
  ];
  if (aggregation === undefined) return own;
  const registration = {
    reason: 'APIServices have not all been created for the groups of this server',
    holds: aggregation.registered,
  };
  return [
    ...own,
    {
      reason: 'what extension servers read about clients has not been published',
      holds: aggregation.trustPublished,
      names: ['start-cluster-authentication-info-controller'],
    },
    { ...cache, names: [`start-${prefix}-aggregator-informers`] },
    {
      ...registration,
      names: [
        'apiservice-registration-controller',
        'apiservice-status-available-controller',
        `${prefix}-apiserver-autoregistration`,
      ],
    },
    { ...registration, names: ['autoregister-completion'] },
    { ...registration, names: ['apiservice-openapi-controller'] },
  ];
}

/** The one check of upstream's in their midst that is no hook. */
const NO_HOOK = 'autoregister-completion';

const aliasesOf = (name: string): Pick<HealthCheck, 'aliases'> => {
  const earlier = EARLIER_NAMES.get(name);
  return earlier === undefined ? {} : { aliases: [earlier] };
};

export function healthChecks({ store, vocabulary }: HealthDeps, state: HealthState): readonly HealthCheck[] {
  const hooks = hooksOf(state, vocabulary.componentPrefix).flatMap(({ reason, holds, names }) =>
    names.map(
      (name): HealthCheck => ({
        name: name === NO_HOOK ? name : `poststarthook/${name}`,
        ...aliasesOf(name),
        startup: true,
        check() {
          if (!holds()) throw new PassingStateError(reason);
        },
      }),
    ),
  );
  return [
    { name: 'log', check: () => undefined },
    {
      name: 'etcd',
      ...aliasesOf('etcd'),
      check: async () => {
        await store.currentRevision();
      },
    },
    {
      name: 'informer-sync',
      ...aliasesOf('informer-sync'),
      on: ['readyz'],
      check: () => {
        if (!state.cacheSynced()) throw new PassingStateError('the cache does not follow the store');
      },
    },
    ...hooks,
  ];
}
