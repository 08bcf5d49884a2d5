/** Settings of nodes and the connections to their agents. */
import { MAX_COUNT, type SettingsOf } from './setting.ts';

/** Longest time that fits into the int32 fields of pods, in seconds. */
const MAX_SECONDS = 2 ** 31 - 1;

export interface NodesConfig {
  readonly defaultNotReadyTolerationSeconds: number;
  readonly defaultUnreachableTolerationSeconds: number;
  readonly nodeagentClientCertificate: string;
  readonly nodeagentClientKey: string;
  readonly nodeagentCertificateAuthority: string;
  readonly nodeagentSkipTlsVerify: boolean;
  readonly nodeagentPreferredAddressTypes: readonly string[];
  readonly nodeagentPort: number;
  readonly nodeagentTimeout: number;
  readonly nodeMonitorGracePeriod: number;
  readonly nodeStartupGracePeriod: number;
  readonly terminatedPodGcThreshold: number;
  readonly allocateNodeCidrs: boolean;
  readonly clusterCidr: readonly string[];
  /** 0: not given. */
  readonly nodeCidrMaskSize: number;
  readonly nodeCidrMaskSizeIpv4: number;
  readonly nodeCidrMaskSizeIpv6: number;
}

export const NODES: SettingsOf<NodesConfig> = {
  defaultNotReadyTolerationSeconds: {
    flag: 'default-not-ready-toleration-seconds',
    type: 'integer',
    default: 300,
    min: 0,
    max: MAX_SECONDS,
    group: 'Nodes',
    help: 'toleration of not-ready nodes, in seconds, added to pods that do not set their own',
  },
  defaultUnreachableTolerationSeconds: {
    flag: 'default-unreachable-toleration-seconds',
    type: 'integer',
    default: 300,
    min: 0,
    max: MAX_SECONDS,
    group: 'Nodes',
    help: 'toleration of unreachable nodes, in seconds, added to pods that do not set their own',
  },
  nodeMonitorGracePeriod: {
    flag: 'node-monitor-grace-period',
    type: 'duration',
    default: '40s',
    group: 'Nodes',
    help: 'time without a heartbeat after which a node is marked unhealthy',
  },
  nodeStartupGracePeriod: {
    flag: 'node-startup-grace-period',
    type: 'duration',
    default: '1m',
    group: 'Nodes',
    help: 'the same for a node that has not reported its status yet',
  },
  terminatedPodGcThreshold: {
    flag: 'terminated-pod-gc-threshold',
    type: 'integer',
    default: 12_500,
    min: 0,
    max: MAX_COUNT,
    group: 'Nodes',
    help: 'terminated pods retained before garbage collection; 0: unlimited',
  },
  nodeagentClientCertificate: {
    flag: 'nodeagent-client-certificate',
    type: 'string',
    default: '',
    group: 'Nodes',
    help: 'client certificate for connections to node agents; default: a generated one',
  },
  nodeagentClientKey: {
    flag: 'nodeagent-client-key',
    type: 'string',
    default: '',
    group: 'Nodes',
    help: 'private key of --nodeagent-client-certificate',
  },
  nodeagentCertificateAuthority: {
    flag: 'nodeagent-certificate-authority',
    type: 'string',
    default: '',
    group: 'Nodes',
    help: 'CAs of the serving certificates of node agents, which are then verified against the address; default: the signer of this server, verified against the node name',
  },
  nodeagentSkipTlsVerify: {
    flag: 'nodeagent-skip-tls-verify',
    type: 'boolean',
    default: false,
    group: 'Nodes',
    help: 'do not verify the certificates of node agents, for agents with self-signed ones',
  },
  nodeagentPreferredAddressTypes: {
    flag: 'nodeagent-preferred-address-types',
    type: 'list',
    default: ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
    choices: ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
    group: 'Nodes',
    help: 'node address types used to reach node agents, in order of preference',
  },
  nodeagentPort: {
    flag: 'nodeagent-port',
    type: 'integer',
    default: 10_250,
    min: 1,
    max: 65_535,
    group: 'Nodes',
    help: 'agent port of nodes that report none',
  },
  nodeagentTimeout: {
    flag: 'nodeagent-timeout',
    type: 'duration',
    default: '5s',
    group: 'Nodes',
    help: 'timeout for connecting to a node agent',
  },
  allocateNodeCidrs: {
    flag: 'allocate-node-cidrs',
    type: 'boolean',
    default: false,
    group: 'Nodes',
    help: 'allocate a range of pod addresses of --cluster-cidr to each node',
  },
  clusterCidr: {
    flag: 'cluster-cidr',
    type: 'list',
    default: [],
    group: 'Nodes',
    help: 'IP range of pods; one range, or one per IP family; addresses of --service-cluster-ip-range are left out',
  },
  nodeCidrMaskSize: {
    flag: 'node-cidr-mask-size',
    type: 'integer',
    default: 0,
    min: 0,
    max: 128,
    group: 'Nodes',
    help: 'prefix length of the range of a node; 0: 24 for IPv4, 64 for IPv6',
  },
  nodeCidrMaskSizeIpv4: {
    flag: 'node-cidr-mask-size-ipv4',
    type: 'integer',
    default: 0,
    min: 0,
    max: 32,
    group: 'Nodes',
    help: 'the same for IPv4, in dual-stack clusters',
  },
  nodeCidrMaskSizeIpv6: {
    flag: 'node-cidr-mask-size-ipv6',
    type: 'integer',
    default: 0,
    min: 0,
    max: 128,
    group: 'Nodes',
    help: 'the same for IPv6, in dual-stack clusters',
  },
};
