/** Table of the fields that need a feature gate, for every built-in kind. While the gate is off, a new object
 *  loses them, and an update keeps them only if the object had one of them. Sources: feature gates, document 3
 *  §4.4; upstream's dropDisabledFields, release 1.24. */
import { VOCABULARIES } from '#api/vocabulary.ts';

/** Types are named by the neutral vocabulary. */
const DOMAIN = VOCABULARIES.plat.apiGroupDomain;

/** Fields of a gate in a type; `name[]` stands for the elements of a list. */
export interface GatedFields {
  readonly gate: string;
  readonly paths: readonly string[];
  /** The value that replaces a disabled one and does not count as use. Absent: the field is deleted. */
  readonly fallback?: string;
}

const CONTAINERS = ['containers[]', 'initContainers[]', 'ephemeralContainers[]'];
const inContainers = (...fields: readonly string[]): readonly string[] =>
  CONTAINERS.flatMap((container) => fields.map((field) => `${container}.${field}`));

/** Fields of a pod's spec. */
const POD_SPEC: readonly GatedFields[] = [
  { gate: 'CSIInlineVolume', paths: ['volumes[].csi'] },
  { gate: 'EphemeralContainers', paths: ['ephemeralContainers'] },
  {
    gate: 'GRPCContainerProbe',
    paths: inContainers('livenessProbe.grpc', 'readinessProbe.grpc', 'startupProbe.grpc'),
  },
  { gate: 'IdentifyPodOS', paths: ['os'] },
  { gate: 'LocalStorageCapacityIsolation', paths: ['volumes[].emptyDir.sizeLimit'] },
  { gate: 'MinDomainsInPodTopologySpread', paths: ['topologySpreadConstraints[].minDomains'] },
  {
    gate: 'ProbeTerminationGracePeriod',
    paths: inContainers(
      'livenessProbe.terminationGracePeriodSeconds',
      'startupProbe.terminationGracePeriodSeconds',
    ),
  },
  { gate: 'ProcMountType', paths: inContainers('securityContext.procMount'), fallback: 'Default' },
];

const at = (prefix: string, fields: readonly GatedFields[]): readonly GatedFields[] =>
  fields.map((entry) => ({ ...entry, paths: entry.paths.map((path) => `${prefix}.${path}`) }));

const WORKLOAD = at('spec.template.spec', POD_SPEC);

/** Gated fields by type, in its storage version. */
export const GATED_FIELDS: Readonly<Record<string, readonly GatedFields[]>> = {
  'core/v1.Pod': at('spec', POD_SPEC),
  'core/v1.PodTemplate': at('template.spec', POD_SPEC),
  'core/v1.ReplicationController': WORKLOAD,
  'apps/v1.Deployment': WORKLOAD,
  'apps/v1.ReplicaSet': WORKLOAD,
  'apps/v1.DaemonSet': [
    ...WORKLOAD,
    { gate: 'DaemonSetUpdateSurge', paths: ['spec.updateStrategy.rollingUpdate.maxSurge'] },
  ],
  'apps/v1.StatefulSet': [
    ...WORKLOAD,
    { gate: 'MaxUnavailableStatefulSet', paths: ['spec.updateStrategy.rollingUpdate.maxUnavailable'] },
    { gate: 'StatefulSetAutoDeletePVC', paths: ['spec.persistentVolumeClaimRetentionPolicy'] },
    { gate: 'StatefulSetMinReadySeconds', paths: ['spec.minReadySeconds'] },
  ],
  'batch/v1.Job': WORKLOAD,
  'batch/v1.CronJob': [
    ...at('spec.jobTemplate', WORKLOAD),
    { gate: 'CronJobTimeZone', paths: ['spec.timeZone'] },
  ],
  'core/v1.Service': [
    { gate: 'MixedProtocolLBService', paths: ['status.loadBalancer.ingress[].ports'] },
    { gate: 'ServiceInternalTrafficPolicy', paths: ['spec.internalTrafficPolicy'] },
  ],
  'core/v1.PersistentVolumeClaim': [
    { gate: 'AnyVolumeDataSource', paths: ['spec.dataSourceRef'] },
    {
      gate: 'RecoverVolumeExpansionFailure',
      paths: ['status.allocatedResources', 'status.resizeStatus'],
    },
  ],
  [`discovery.${DOMAIN}/v1.EndpointSlice`]: [
    {
      gate: 'EndpointSliceTerminatingCondition',
      paths: ['endpoints[].conditions.serving', 'endpoints[].conditions.terminating'],
    },
    { gate: 'TopologyAwareHints', paths: ['endpoints[].hints'] },
  ],
  [`networking.${DOMAIN}/v1.NetworkPolicy`]: [
    {
      gate: 'NetworkPolicyEndPort',
      paths: ['spec.ingress[].ports[].endPort', 'spec.egress[].ports[].endPort'],
    },
    { gate: 'NetworkPolicyStatus', paths: ['status.conditions'] },
  ],
  'autoscaling/v2.HorizontalPodAutoscaler': [
    { gate: 'HPAContainerMetrics', paths: ['spec.metrics[].containerResource'] },
  ],
};

/** Subresources that need a gate, as `type/subresource`: without it they do not exist. */
export const GATED_SUBRESOURCES: Readonly<Record<string, string>> = {
  'core/v1.Pod/ephemeralcontainers': 'EphemeralContainers',
};
