/** Flags of upstream's API server that have no meaning here: accepted, so that its command lines work, and reported
 *  if they are set. Source: upstream's flags, release 1.24. */
import { ignored, type NoEffect } from '#api/schema/effect.ts';

const NO_CLOUD = 'no cloud provider is built in';
const OWN_CACHE = 'the cache holds every object and all changes since the last compaction';
const OWN_LOG = 'the log is JSON on the standard error; see --v';
const OWN_METRICS = 'no metric is hidden or has other labels';
const ETCD_COUNTS = 'the server counts its own objects';
const STORED_FORM = 'objects are stored as the bytes of their responses';

const REASONS: Readonly<Record<string, string>> = {
  'allow-metric-labels': OWN_METRICS,
  'apiserver-count': 'servers add their address to the endpoints, and withdraw it when they stop',
  'cloud-config': NO_CLOUD,
  'cloud-provider': NO_CLOUD,
  'contention-profiling': 'Node.js has no locks to profile',
  'default-watch-cache-size': OWN_CACHE,
  'delete-collection-workers': 'the server chooses how many deletions of a collection run at once',
  'disabled-metrics': OWN_METRICS,
  'egress-selector-config-file': 'connections to nodes and webhooks are direct',
  'enable-garbage-collector': 'see --controllers',
  'endpoint-reconciler-type': 'servers add their address to the endpoints, and withdraw it when they stop',
  'etcd-count-metric-poll-period': ETCD_COUNTS,
  'etcd-db-metric-poll-interval': ETCD_COUNTS,
  'etcd-healthcheck-timeout': 'the health of etcd is that of the last call',
  'etcd-servers-overrides': 'all objects are in one store',
  'experimental-logging-sanitization': 'secrets are never logged',
  'external-hostname': 'see --advertise-address and --cert-sans',
  'kubernetes-service-node-port': 'the service of the server has a cluster IP only',
  'lease-reuse-duration-seconds': 'events are deleted by the server, not by leases of etcd',
  'log-flush-frequency': OWN_LOG,
  'logging-format': OWN_LOG,
  logtostderr: OWN_LOG,
  'master-service-namespace': 'deprecated upstream',
  'max-connection-bytes-per-sec': 'connections are not throttled',
  'permit-address-sharing': 'one process listens on an address',
  'permit-port-sharing': 'one process listens on a port',
  'service-account-lookup': 'tokens are always checked against their objects',
  'show-hidden-metrics-for-version': OWN_METRICS,
  'shutdown-send-retry-after': 'requests during shutdown are rejected with Retry-After',
  'storage-backend': 'see --etcd-servers',
  'storage-media-type': STORED_FORM,
  vmodule: OWN_LOG,
  'watch-cache': OWN_CACHE,
  'watch-cache-sizes': OWN_CACHE,
};

/** Values that match the fixed behaviour. */
const ALWAYS: Readonly<Record<string, boolean | string>> = {
  'enable-garbage-collector': true,
  'logging-format': 'json',
  logtostderr: true,
  'service-account-lookup': true,
  'storage-backend': 'etcd3',
  'watch-cache': true,
};

/** Flags without effect, each with the reason. */
export const IGNORED_FLAGS: ReadonlyMap<string, NoEffect> = new Map(
  Object.entries(REASONS).map(([flag, why]) => [flag, ignored(why, ALWAYS[flag])]),
);
