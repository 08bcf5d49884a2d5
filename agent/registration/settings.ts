/** Registration settings from the configuration of the agent. Pure. */
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import type { ResourceRules } from '../machine/capacity.ts';
import { requestedAddresses } from './addresses.ts';
import { decideAttachLimits } from './attach-limits.ts';
import type { NodeIdentityRules } from './initial-node.ts';
import type { LeaseRules } from './node-lease.ts';
import { nodeNames } from './node-names.ts';
import type { StatusRules } from './node-status.ts';

export interface RegistrationSettings {
  readonly vocabulary: Vocabulary;
  readonly nodeName: string;
  /** `--register-node`: with false, waits until the node has been created by others. */
  readonly registers: boolean;
  /** Without the architecture, which is a machine fact. */
  readonly identity: Omit<NodeIdentityRules, 'architecture'>;
  readonly status: StatusRules;
  readonly lease: LeaseRules;
  /** Interval of computing the status, and of reporting it without a change, in ms. */
  readonly updateMs: number;
  readonly reportMs: number;
  /** -1 is all. */
  readonly mostImages: number;
}

export interface NodeNaming {
  readonly nodeName: string;
  readonly agentVersion: string;
}

export const resourceRules = (config: AgentConfig): ResourceRules => ({
  maxPods: config.maxPods,
  podsPerCore: config.podsPerCore,
  systemReserved: config.systemReserved,
  platReserved: config.platReserved,
  reservedSystemCPUs: config.reservedSystemCPUs,
  evictionHard: config.evictionHard,
  ignoreEviction: config.experimentalAllocatableIgnoreEviction,
  localStorage: featureEnabled(config, 'LocalStorageCapacityIsolation'),
});

/** `--cloud-provider` of a node that an external cloud provider initializes. */
const EXTERNAL = 'external';

export function registrationSettings(
  config: AgentConfig,
  { nodeName, agentVersion }: NodeNaming,
): RegistrationSettings {
  const vocabulary = VOCABULARIES[config.vocabulary];
  const names = nodeNames(vocabulary);
  const externalProvider = config.cloudProvider === EXTERNAL;
  return {
    vocabulary,
    nodeName,
    registers: config.registerNode,
    identity: {
      names,
      nodeName,
      hostname: nodeName,
      labels: config.nodeLabels,
      taints: config.registerWithTaints,
      schedulable: config.registerSchedulable,
      providerID: config.providerID,
      externalProvider,
      requestedIP: requestedAddresses(config.nodeIP)[0] ?? '',
      controllerAttaches: config.enableControllerAttachDetach,
      keepsVolumes: config.keepTerminatedPodVolumes,
    },
    status: {
      names,
      agentVersion,
      externalProvider,
      addresses: { nodeIP: config.nodeIP, hostname: nodeName },
      resources: resourceRules(config),
      attachLimits: (instanceType) =>
        decideAttachLimits(config.cloudProvider, instanceType, (plugin) =>
          featureEnabled(config, `InTreePlugin${plugin}Unregister`),
        ),
      ...(config.enableServer ? { serverPort: config.port } : {}),
    },
    lease: {
      apiVersion: names.leaseApiVersion,
      namespace: names.leaseNamespace,
      nodeName,
      durationSeconds: config.nodeLeaseDurationSeconds,
    },
    updateMs: config.nodeStatusUpdateFrequency,
    reportMs: config.nodeStatusReportFrequency,
    mostImages: config.nodeStatusMaxImages,
  };
}

/** Returns the timeout of a heartbeat in ms: at most its interval, so that a hanging connection is abandoned
 *  in time. */
export function heartbeatTimeoutMs({
  nodeStatusUpdateFrequency,
  nodeLeaseDurationSeconds,
}: Pick<AgentConfig, 'nodeStatusUpdateFrequency' | 'nodeLeaseDurationSeconds'>): number {
  return Math.min(nodeStatusUpdateFrequency, nodeLeaseDurationSeconds * 1000);
}
