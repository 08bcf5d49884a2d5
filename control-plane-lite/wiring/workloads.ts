/** Workload controllers, which create pods. They share one index of the pods. */

import type { ServerConfig } from '../config/settings.ts';
import { runAttachDetach } from '../controllers/attach-detach/controller.ts';
import { runCronJobs } from '../controllers/cron-job/controller.ts';
import { runDaemonSets } from '../controllers/daemon-set/controller.ts';
import { runDeployments } from '../controllers/deployment/controller.ts';
import { runDisruption } from '../controllers/disruption/controller.ts';
import { runEndpointSliceMirroring } from '../controllers/endpoint-slice-mirroring/controller.ts';
import { runEphemeralVolumes } from '../controllers/ephemeral-volume/controller.ts';
import { runJobs } from '../controllers/job/controller.ts';
import type { ControllerName } from '../controllers/names.ts';
import { runNodeLifecycle } from '../controllers/node-lifecycle/controller.ts';
import { runVolumeBinder } from '../controllers/persistentvolume-binder/controller.ts';
import { runVolumeExpander } from '../controllers/persistentvolume-expander/controller.ts';
import { runPodGc } from '../controllers/pod-gc/controller.ts';
import { REPLICA_SETS, REPLICATION_CONTROLLERS, runReplicas } from '../controllers/replica-set/controller.ts';
import { runResourceQuota } from '../controllers/resourcequota/controller.ts';
import { runEndpoints } from '../controllers/service-backends/endpoints-controller.ts';
import { runEndpointSlices } from '../controllers/service-backends/slices-controller.ts';
import { runStatefulSets } from '../controllers/stateful-set/controller.ts';
import { runTtlAfterFinished } from '../controllers/ttl-after-finished/controller.ts';
import { runClaimProtection, runVolumeProtection } from '../controllers/volume-protection/controller.ts';
import { type Children, createChildren } from '../controllers/workloads-kit/children.ts';
import { findResource, type WorkloadDeps } from '../controllers/workloads-kit/deps.ts';
import { type PodFacts, podFacts } from '../controllers/workloads-kit/pod-facts.ts';
import type { PendingCharges } from '../quota/pending.ts';
import type { ResourceRegistry } from '../resources/registry.ts';
import type { Core } from './core.ts';

interface Shared {
  readonly config: ServerConfig;
  readonly pods: Children<PodFacts>;
  readonly registry: ResourceRegistry;
  readonly pendingCharges: PendingCharges;
}

type Run = (deps: WorkloadDeps, signal: AbortSignal, shared: Shared) => Promise<void>;

/** By their names in `--controllers`. */
const WORKLOADS: Partial<Readonly<Record<ControllerName, Run>>> = {
  attachdetach: runAttachDetach,
  cronjob: runCronJobs,
  daemonset: runDaemonSets,
  deployment: runDeployments,
  disruption: runDisruption,
  endpoint: runEndpoints,
  endpointslice: runEndpointSlices,
  endpointslicemirroring: runEndpointSliceMirroring,
  'ephemeral-volume': runEphemeralVolumes,
  job: runJobs,
  nodelifecycle: (deps, signal, { config }) =>
    runNodeLifecycle(deps, signal, {
      graceMs: config.nodeMonitorGracePeriod,
      startupGraceMs: config.nodeStartupGracePeriod,
    }),
  'persistentvolume-binder': runVolumeBinder,
  'persistentvolume-expander': runVolumeExpander,
  podgc: (deps, signal, { config }) =>
    runPodGc(deps, signal, { mostFinished: config.terminatedPodGcThreshold }),
  'pv-protection': runVolumeProtection,
  'pvc-protection': runClaimProtection,
  replicaset: (deps, signal, { pods }) => runReplicas(deps, signal, { kind: REPLICA_SETS, pods }),
  replicationcontroller: (deps, signal, { pods }) =>
    runReplicas(deps, signal, { kind: REPLICATION_CONTROLLERS, pods }),
  resourcequota: (deps, signal, { registry, pendingCharges }) =>
    runResourceQuota(deps, signal, { registry, pending: pendingCharges }),
  statefulset: runStatefulSets,
  'ttl-after-finished': runTtlAfterFinished,
};

/** Runs until the signal fires. */
export async function runWorkloads(core: Core, signal: AbortSignal): Promise<void> {
  const { registry, cache, verbs, clock, vocabulary, gates } = core;
  const chosen = [...core.controllers].flatMap((name) => {
    const run = WORKLOADS[name];
    return run === undefined ? [] : [{ name, run }];
  });
  const resource = findResource(core, 'v1', 'pods');
  if (resource === undefined || chosen.length === 0) return;
  const pods = createChildren(cache.resource(resource.storage), podFacts);
  const deps = { registry, cache, verbs, clock, vocabulary, gates };
  await Promise.all(
    chosen.map(({ name, run }) =>
      run({ ...deps, log: core.log.child({ controller: name }) }, signal, {
        pods,
        registry,
        pendingCharges: core.pendingCharges,
        config: core.config,
      }),
    ),
  );
  pods.close();
}
