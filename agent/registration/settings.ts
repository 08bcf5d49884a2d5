/** What of the agent's configuration a node is made of. Pure. */
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { featureEnabled } from '../config/feature-gates.ts';
import type { AgentConfig } from '../config/gen/config.ts';
import { wishedAddresses } from './addresses.ts';
import { decideAttachLimits } from './attach-limits.ts';
import type { NodeIdentityRules } from './initial-node.ts';
import type { LeaseRules } from './node-lease.ts';
import type { StatusRules } from './node-status.ts';
import type { ResourceRules } from './resources.ts';
import { nodeWords } from './words.ts';

export interface RegistrationSettings {
  readonly vocabulary: Vocabulary;
  readonly nodeName: string;
  /** `--register-node`: false waits until somebody else makes the node. */
  readonly registers: boolean;
  /** Without the architecture, which the machine tells. */
  readonly identity: Omit<NodeIdentityRules, 'architecture'>;
  readonly status: StatusRules;
  readonly lease: LeaseRules;
  /** How often the status is worked out, and how often it is reported without a change, in ms. */
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

/** `--cloud-provider` of a node that a program elsewhere makes complete. */
const EXTERNAL = 'external';

export function registrationSettings(
  config: AgentConfig,
  { nodeName, agentVersion }: NodeNaming,
): RegistrationSettings {
  const vocabulary = VOCABULARIES[config.vocabulary];
  const words = nodeWords(vocabulary);
  const externalProvider = config.cloudProvider === EXTERNAL;
  return {
    vocabulary,
    nodeName,
    registers: config.registerNode,
    identity: {
      words,
      nodeName,
      hostname: nodeName,
      labels: config.nodeLabels,
      taints: config.registerWithTaints,
      schedulable: config.registerSchedulable,
      providerID: config.providerID,
      externalProvider,
      wishedIP: wishedAddresses(config.nodeIP)[0] ?? '',
      controllerAttaches: config.enableControllerAttachDetach,
      keepsVolumes: config.keepTerminatedPodVolumes,
    },
    status: {
      words,
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
      apiVersion: words.leaseApiVersion,
      namespace: words.leaseNamespace,
      nodeName,
      durationSeconds: config.nodeLeaseDurationSeconds,
    },
    updateMs: config.nodeStatusUpdateFrequency,
    reportMs: config.nodeStatusReportFrequency,
    mostImages: config.nodeStatusMaxImages,
  };
}

/** How long a heartbeat may take, in ms: no longer than until the next one, so that a connection that hangs is left
 *  in time. */
export function heartbeatTimeoutMs({
  nodeStatusUpdateFrequency,
  nodeLeaseDurationSeconds,
}: Pick<AgentConfig, 'nodeStatusUpdateFrequency' | 'nodeLeaseDurationSeconds'>): number {
  return Math.min(nodeStatusUpdateFrequency, nodeLeaseDurationSeconds * 1000);
}
