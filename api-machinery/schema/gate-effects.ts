/** Effects of each feature gate in each of the two programs. One entry per gate; a test compares it with the
 *  source code. Source: feature gates, document 3 §4.4. */
import { ignored, type NoEffect, notImplemented, type SetInVain } from './effect.ts';
import { FEATURE_GATES, type GateSettings } from './feature-gates.ts';

export type Program = 'nodeagent' | 'control-plane-lite';

interface Acted {
  readonly by: readonly Program[];
  /** The implemented part of the feature, if it is incomplete. */
  readonly limits?: string;
}

const AGENT: Acted = { by: ['nodeagent'] };
const SERVER: Acted = { by: ['control-plane-lite'] };
const BOTH: Acted = { by: ['nodeagent', 'control-plane-lite'] };

const ABSENT = notImplemented('', false);
const WINDOWS = ignored('nodes run Linux', false);
const NO_CLOUD = ignored('no cloud provider is built in', true);

const GATE_EFFECTS: Readonly<Record<string, Acted | NoEffect>> = {
  APIListChunking: SERVER,
  APIPriorityAndFairness: SERVER,
  APIResponseCompression: SERVER,
  APIServerIdentity: SERVER,
  APIServerTracing: ABSENT,
  AllAlpha: BOTH,
  AllBeta: BOTH,
  AnyVolumeDataSource: SERVER,
  AppArmor: AGENT,
  CPUManager: AGENT,
  CPUManagerPolicyAlphaOptions: AGENT,
  CPUManagerPolicyBetaOptions: AGENT,
  CPUManagerPolicyOptions: AGENT,
  CSIInlineVolume: BOTH,
  CSIMigration: BOTH,
  CSIMigrationAWS: BOTH,
  CSIMigrationAzureFile: ignored(
    'the CIFS client of the kernel mounts these volumes, without a driver',
    false,
  ),
  CSIMigrationGCE: BOTH,
  CSIMigrationPortworx: ignored('the service of the storage system attaches these volumes', false),
  CSIMigrationRBD: ignored('the kernel maps these volumes, without a driver', false),
  CSIMigrationvSphere: BOTH,
  CSIVolumeHealth: AGENT,
  ContextualLogging: ignored('every log line has the context of its component', true),
  CronJobTimeZone: SERVER,
  CustomCPUCFSQuotaPeriod: AGENT,
  CustomResourceValidationExpressions: {
    ...SERVER,
    limits: 'rules are evaluated without the functions find, findAll and those of URLs',
  },
  DaemonSetUpdateSurge: SERVER,
  DelegateFSGroupToCSIDriver: AGENT,
  DevicePlugins: AGENT,
  DisableAcceleratorUsageMetrics: ignored('there are no accelerator metrics', true),
  DisableCloudProviders: NO_CLOUD,
  DisableNodeAgentCloudCredentialProviders: NO_CLOUD,
  DownwardAPIHugePages: AGENT,
  EndpointSliceTerminatingCondition: SERVER,
  EphemeralContainers: BOTH,
  ExpandedDNSConfig: BOTH,
  ExperimentalHostUserNamespaceDefaulting: ignored('it is about the docker runtime', false),
  GRPCContainerProbe: BOTH,
  GracefulNodeShutdown: AGENT,
  GracefulNodeShutdownBasedOnPodPriority: AGENT,
  HPAContainerMetrics: SERVER,
  HPAScaleToZero: SERVER,
  HonorPVReclaimPolicy: ignored('it is about volumes of built-in provisioners, and there are none', false),
  IdentifyPodOS: BOTH,
  InTreePluginAWSUnregister: AGENT,
  InTreePluginAzureDiskUnregister: AGENT,
  InTreePluginAzureFileUnregister: AGENT,
  InTreePluginGCEUnregister: AGENT,
  InTreePluginOpenStackUnregister: AGENT,
  InTreePluginPortworxUnregister: AGENT,
  InTreePluginRBDUnregister: AGENT,
  InTreePluginvSphereUnregister: AGENT,
  JobMutableNodeSchedulingDirectives: SERVER,
  JobReadyPods: SERVER,
  JobTrackingWithFinalizers: SERVER,
  LegacyServiceAccountTokenNoAutoGeneration: SERVER,
  LocalStorageCapacityIsolation: BOTH,
  LocalStorageCapacityIsolationFSQuotaMonitoring: AGENT,
  LogarithmicScaleDown: SERVER,
  MaxUnavailableStatefulSet: SERVER,
  MemoryManager: AGENT,
  MemoryQoS: AGENT,
  MinDomainsInPodTopologySpread: SERVER,
  MixedProtocolLBService: SERVER,
  NetworkPolicyEndPort: SERVER,
  NetworkPolicyStatus: SERVER,
  NodeAgentCredentialProviders: AGENT,
  NodeAgentInUserNamespace: ignored('errors of privileged kernel settings are logged and never fatal', true),
  NodeAgentPodResources: AGENT,
  NodeAgentPodResourcesGetAllocatable: AGENT,
  NodeOutOfServiceVolumeDetach: SERVER,
  NodeSwap: AGENT,
  OpenAPIEnums: SERVER,
  OpenAPIV3: SERVER,
  PodAndContainerStatsFromCRI: ignored('the runtime is always the source of container statistics', true),
  PodDeletionCost: SERVER,
  PodSecurity: SERVER,
  ProbeTerminationGracePeriod: BOTH,
  ProcMountType: BOTH,
  ProxyTerminatingEndpoints: ignored(
    'it is about the service proxy; slices always have the conditions that it reads',
    false,
  ),
  QOSReserved: AGENT,
  ReadWriteOncePod: SERVER,
  RecoverVolumeExpansionFailure: BOTH,
  RemainingItemCount: SERVER,
  RotateNodeAgentServerCertificate: AGENT,
  SeccompDefault: AGENT,
  ServerSideFieldValidation: SERVER,
  ServiceIPStaticSubrange: SERVER,
  ServiceInternalTrafficPolicy: SERVER,
  SizeMemoryBackedVolumes: AGENT,
  StatefulSetAutoDeletePVC: SERVER,
  StatefulSetMinReadySeconds: SERVER,
  StorageVersionAPI: ABSENT,
  StorageVersionHash: SERVER,
  TopologyAwareHints: SERVER,
  TopologyManager: AGENT,
  VolumeCapacityPriority: SERVER,
  WinDSR: WINDOWS,
  WinOverlay: WINDOWS,
  WindowsHostProcessContainers: WINDOWS,
};

/** Effect of a gate in a program: `true`, or why it has none. */
export function gateEffect(name: string, program: Program): true | NoEffect {
  const entry = GATE_EFFECTS[name];
  if (entry === undefined || 'state' in entry) return entry ?? notImplemented();
  return entry.by.includes(program) || ignored(`a gate of ${entry.by.join(' and ')}`);
}

/** Why a gate has no effect in either program, or else where it has one. */
export function gateSummary(name: string): {
  readonly by: readonly Program[];
  readonly note: string | NoEffect;
} {
  const entry = GATE_EFFECTS[name] ?? notImplemented();
  return 'state' in entry ? { by: [], note: entry } : { by: entry.by, note: entry.limits ?? '' };
}

/** Returns the gates that have an effect in a program. */
export const effectiveGates = (program: Program): readonly string[] =>
  FEATURE_GATES.map(({ name }) => name).filter((name) => gateEffect(name, program) === true);

/** Returns the gates that were set without effect, except those set to the program's fixed behavior.
 *  @param subjectOf returns the gate as the user wrote it */
export function gatesSetInVain(
  settings: GateSettings,
  program: Program,
  subjectOf: (name: string) => string = (name) => `feature gate ${name}`,
): readonly SetInVain[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    const effect = gateEffect(name, program);
    return effect === true || effect.always === value ? [] : [{ subject: subjectOf(name), effect }];
  });
}
