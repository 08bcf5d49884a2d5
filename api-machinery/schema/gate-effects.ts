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

const ALWAYS_ON = notImplemented('always on', true);
const ABSENT = notImplemented('', false);
const WINDOWS = ignored('nodes run Linux', false);
const NO_CLOUD = ignored('no cloud provider is built in', true);

const GATE_EFFECTS: Readonly<Record<string, Acted | NoEffect>> = {
  APIListChunking: ALWAYS_ON,
  APIPriorityAndFairness: SERVER,
  APIResponseCompression: ALWAYS_ON,
  APIServerIdentity: ABSENT,
  APIServerTracing: ABSENT,
  AllAlpha: BOTH,
  AllBeta: BOTH,
  AnyVolumeDataSource: ALWAYS_ON,
  AppArmor: ALWAYS_ON,
  CPUManager: AGENT,
  CPUManagerPolicyAlphaOptions: AGENT,
  CPUManagerPolicyBetaOptions: AGENT,
  CPUManagerPolicyOptions: AGENT,
  CSIInlineVolume: AGENT,
  CSIMigration: BOTH,
  CSIMigrationAWS: BOTH,
  CSIMigrationAzureFile: ABSENT,
  CSIMigrationGCE: BOTH,
  CSIMigrationPortworx: ABSENT,
  CSIMigrationRBD: ABSENT,
  CSIMigrationvSphere: BOTH,
  CSIVolumeHealth: AGENT,
  ContextualLogging: ignored('every log line has the context of its component', true),
  CronJobTimeZone: SERVER,
  CustomCPUCFSQuotaPeriod: AGENT,
  CustomResourceValidationExpressions: {
    ...SERVER,
    limits: 'rules are stored with a warning, and not evaluated',
  },
  DaemonSetUpdateSurge: { ...SERVER, limits: 'the default of maxSurge' },
  DelegateFSGroupToCSIDriver: AGENT,
  DevicePlugins: AGENT,
  DisableAcceleratorUsageMetrics: ignored('there are no accelerator metrics', true),
  DisableCloudProviders: NO_CLOUD,
  DisableNodeAgentCloudCredentialProviders: NO_CLOUD,
  DownwardAPIHugePages: ALWAYS_ON,
  EndpointSliceTerminatingCondition: ALWAYS_ON,
  EphemeralContainers: { ...AGENT, limits: 'the local API; the API server always serves them' },
  ExpandedDNSConfig: BOTH,
  ExperimentalHostUserNamespaceDefaulting: ignored('it is about the docker runtime', false),
  GRPCContainerProbe: ALWAYS_ON,
  GracefulNodeShutdown: AGENT,
  GracefulNodeShutdownBasedOnPodPriority: AGENT,
  HPAContainerMetrics: SERVER,
  HPAScaleToZero: SERVER,
  HonorPVReclaimPolicy: ABSENT,
  IdentifyPodOS: ALWAYS_ON,
  InTreePluginAWSUnregister: ABSENT,
  InTreePluginAzureDiskUnregister: ABSENT,
  InTreePluginAzureFileUnregister: ABSENT,
  InTreePluginGCEUnregister: ABSENT,
  InTreePluginOpenStackUnregister: ABSENT,
  InTreePluginPortworxUnregister: ABSENT,
  InTreePluginRBDUnregister: ABSENT,
  InTreePluginvSphereUnregister: ABSENT,
  JobMutableNodeSchedulingDirectives: ALWAYS_ON,
  JobReadyPods: SERVER,
  JobTrackingWithFinalizers: SERVER,
  LegacyServiceAccountTokenNoAutoGeneration: SERVER,
  LocalStorageCapacityIsolation: AGENT,
  LocalStorageCapacityIsolationFSQuotaMonitoring: AGENT,
  LogarithmicScaleDown: ALWAYS_ON,
  MaxUnavailableStatefulSet: SERVER,
  MemoryManager: AGENT,
  MemoryQoS: AGENT,
  MinDomainsInPodTopologySpread: ABSENT,
  MixedProtocolLBService: ALWAYS_ON,
  NetworkPolicyEndPort: ALWAYS_ON,
  NetworkPolicyStatus: SERVER,
  NodeAgentCredentialProviders: ALWAYS_ON,
  NodeAgentInUserNamespace: ABSENT,
  NodeAgentPodResources: AGENT,
  NodeAgentPodResourcesGetAllocatable: AGENT,
  NodeOutOfServiceVolumeDetach: SERVER,
  NodeSwap: AGENT,
  OpenAPIEnums: ALWAYS_ON,
  OpenAPIV3: ALWAYS_ON,
  PodAndContainerStatsFromCRI: ALWAYS_ON,
  PodDeletionCost: ALWAYS_ON,
  PodSecurity: notImplemented('always on; see --disable-admission-plugins', true),
  ProbeTerminationGracePeriod: AGENT,
  ProcMountType: AGENT,
  ProxyTerminatingEndpoints: ignored(
    'it is about the service proxy, which is not part of these programs',
    false,
  ),
  QOSReserved: AGENT,
  ReadWriteOncePod: ABSENT,
  RecoverVolumeExpansionFailure: BOTH,
  RemainingItemCount: ALWAYS_ON,
  RotateNodeAgentServerCertificate: AGENT,
  SeccompDefault: AGENT,
  ServerSideFieldValidation: ALWAYS_ON,
  ServiceIPStaticSubrange: ABSENT,
  ServiceInternalTrafficPolicy: { ...SERVER, limits: 'the default of internalTrafficPolicy' },
  SizeMemoryBackedVolumes: AGENT,
  StatefulSetAutoDeletePVC: SERVER,
  StatefulSetMinReadySeconds: SERVER,
  StorageVersionAPI: ABSENT,
  StorageVersionHash: ALWAYS_ON,
  TopologyAwareHints: ABSENT,
  TopologyManager: AGENT,
  VolumeCapacityPriority: ABSENT,
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
