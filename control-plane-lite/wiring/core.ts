/** Core of the server: store, cache, resources, verbs. Everything except HTTP and controllers. */
import { type Clock, systemClock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { Waits } from '#api/kit/waits.ts';
import type { QueueObserver } from '#api/kit/work-queue.ts';
import { createQueueMetrics } from '#api/kit/work-queue-metrics.ts';
import { gatesOn } from '#api/schema/feature-gates.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { createAdmissionMetrics } from '../admission/metrics.ts';
import { trackUpdate } from '../apply/track-update.ts';
import { type AuthenticationMetrics, createAuthenticationMetrics } from '../authn/metrics.ts';
import { createCache } from '../cache/cache.ts';
import type { Cache, SelectableFields } from '../cache/contract.ts';
import { gateSettings } from '../config/parse.ts';
import type { ServerConfig } from '../config/settings.ts';
import { vocabularyOf } from '../config/vocabulary.ts';
import { chooseControllers } from '../controllers/names.ts';
import type { LiveIdentity } from '../identity/keeper.ts';
import { createPendingCharges, type PendingCharges } from '../quota/pending.ts';
import type { Resource } from '../resources/contract.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import { withCallWaits } from '../store/call-waits.ts';
import type { Store } from '../store/contract.ts';

import type { Verbs } from '../verbs/contract.ts';
import { createAdmissionChain, createVerbs } from '../verbs/verbs.ts';
import { type CheckIdentity, createCountingIdentityCheck } from '../webhooks/server-identity.ts';
import { type Access, createAccess } from './access/access.ts';
import { type AccountTokens, createAccountTokens } from './access/account-tokens.ts';
import { createVerificationGate } from './access/authentication.ts';
import { createAdmissionPlugins } from './admission.ts';
import { loadAdmissionSettings } from './admission-settings.ts';
import {
  type ClientAuthorities,
  createClientAuthorities,
  createProxyAuthorities,
} from './certificates/client-authorities.ts';
import type { Follow } from './certificates/follow.ts';
import { type ConfiguredSigners, followSigners } from './certificates/key-pairs.ts';
import { indispensablePrefixes } from './indispensable.ts';
import { createResources, type ServedResources } from './resources.ts';
import { storeName } from './store.ts';

export interface Core {
  readonly config: ServerConfig;
  readonly vocabulary: Vocabulary;
  readonly gates: ReadonlySet<string>;
  /** Names of the controllers to run here. */
  readonly controllers: ReadonlySet<string>;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: MetricsRegistry;
  /** Returns the observer of the work queue of a name. */
  readonly observeQueue: (name: string) => QueueObserver;
  /** Checks the certificates of webhooks. */
  readonly checkIdentity: CheckIdentity;
  /** Pending start conditions of the server. */
  readonly waits?: Waits | undefined;
  readonly authentication: AuthenticationMetrics;
  readonly store: Store;
  readonly cache: Cache;
  readonly registry: ResourceRegistry;
  readonly allocation: ServedResources['allocation'];
  readonly access: Access;
  readonly accountTokens: AccountTokens;
  readonly verbs: Verbs;
  readonly pendingCharges: PendingCharges;
  readonly identity: LiveIdentity;
  readonly clientAuthorities: ClientAuthorities;
  readonly proxyAuthorities: ClientAuthorities;
  /** Authorities from the configured files of signers. */
  readonly signers: ConfiguredSigners;
  /** Follows files until the server stops. */
  readonly follow: Follow;
}

/** Reconciles the pools of addresses and ports with the existing services. */
async function repairAllocations(
  cache: Cache,
  registry: ResourceRegistry,
  allocation: ServedResources['allocation'],
  log: Logger,
): Promise<void> {
  const services = registry.find('', 'v1', 'services');
  if (services === undefined) return;
  const { items } = await cache.resource(services.storage).list({ labels: [], fields: [] });
  const report = await allocation.repair(items.map((entry) => entry.object()));
  if (report.conflicts.length > 0)
    log.warn({ conflicts: report.conflicts }, 'Services share an address or a port');
}

/** Returns the fields that selectors may name in any version of a stored resource. */
function fieldsOf({ storage }: Resource, registry: ResourceRegistry): SelectableFields {
  const versions = registry.all().filter((other) => other.storage.prefix === storage.prefix);
  return Object.fromEntries(
    versions.flatMap(({ strategy }) => Object.entries(strategy.selectableFields ?? {})),
  );
}

/** Loads the state and follows it until the signal. */
export async function createCore(
  config: ServerConfig,
  followedStore: Store,
  { identity, follow, metrics }: Pick<Core, 'identity' | 'follow' | 'metrics'>,
  log: Logger,
  signal: AbortSignal,
  waits?: Waits,
): Promise<Core> {
  const clock = systemClock;
  const store = waits === undefined ? followedStore : withCallWaits(followedStore, storeName(config), waits);
  const vocabulary = vocabularyOf(config);
  const gates = gatesOn(gateSettings(config.featureGates));
  const { registry, allocation } = createResources(config, store, vocabulary, gates);
  const cache = createCache(
    { store, followedStore, clock, log, waits, storeName: storeName(config) },
    { historyMs: config.etcdCompactionInterval, indispensable: indispensablePrefixes(registry) },
  );
  for (const resource of registry.all()) {
    if (resource.stored === undefined) cache.resource(resource.storage, fieldsOf(resource, registry));
  }
  await cache.start(signal);
  const clientAuthorities = await createClientAuthorities(config, identity, follow);
  const proxyAuthorities = await createProxyAuthorities(config, follow);
  await repairAllocations(cache, registry, allocation, log);
  const checkIdentity = createCountingIdentityCheck(metrics);
  const authentication = createAuthenticationMetrics(metrics, vocabulary);
  const common = { config, vocabulary, clock, log, waits, cache, registry, signal, follow, checkIdentity };
  const verifications = createVerificationGate(clock);
  const counts = authentication.accountTokens;
  const accountTokens = await createAccountTokens({ ...common, verifications, counts });
  const access = await createAccess({
    ...common,
    clientAuthorities,
    proxyAuthorities,
    verifications,
    metrics: authentication,
    accounts: accountTokens.authenticator,
    audiences: accountTokens.audiences,
  });
  if (config.anonymousAuth && config.authorizationMode.includes('AlwaysAllow'))
    log.warn(
      { authorizationMode: config.authorizationMode, anonymousAuth: true },
      'Anonymous clients have full access',
    );
  const pendingCharges = createPendingCharges({ clock, cache });
  const admissionMetrics = createAdmissionMetrics(metrics);
  const settings = await loadAdmissionSettings({ config, log, signal, follow, checkIdentity });
  const plugins = createAdmissionPlugins({
    config,
    vocabulary,
    clock,
    gates,
    cache,
    registry,
    access,
    log,
    waits,
    signal,
    pendingCharges,
    settings,
    checkIdentity,
    metrics: admissionMetrics,
    verbs: () => verbs,
  });
  const admission = createAdmissionChain(plugins, { clock, metrics: admissionMetrics });
  const verbs: Verbs = createVerbs({ store, cache, admission, clock, vocabulary, gates, track: trackUpdate });
  const observeQueue = createQueueMetrics({ registry: metrics, clock });
  const measured = { metrics, authentication, observeQueue };
  const made = { store, cache, registry, allocation, access, accountTokens, verbs, pendingCharges };
  const controllers = chooseControllers(config.controllers);
  const signers = await followSigners(config, follow);
  const files = { identity, clientAuthorities, proxyAuthorities, signers, follow, checkIdentity };
  return { config, vocabulary, gates, controllers, clock, log, waits, ...measured, ...made, ...files };
}
