/** Table of all settings of the server: flag, type, default and help. The command line, `--help` and the
 *  validation are derived from it. */
import { effectiveGates } from '#api/schema/gate-effects.ts';
import { ADMISSION_PLUGINS } from '../admission/names.ts';
import { AUDIT, type AuditConfig } from './groups/audit.ts';
import { ENCRYPTION, type EncryptionConfig } from './groups/encryption.ts';
import { MAX_COUNT, type SettingsOf } from './groups/setting.ts';

/** Longest time that fits into the int32 fields of pods, in seconds. */
const MAX_SECONDS = 2 ** 31 - 1;

/** The configuration; durations are in ms. */
export interface ServerConfig extends AuditConfig, EncryptionConfig {
  readonly dataDir: string;
  readonly vocabulary: string;
  readonly bindAddress: string;
  readonly securePort: number;
  readonly advertiseAddress: string;
  readonly certSANs: readonly string[];
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly requestTimeout: number;
  readonly livezGracePeriod: number;
  readonly shutdownDelayDuration: number;
  readonly etcdServers: readonly string[];
  readonly etcdCafile: string;
  readonly etcdCertfile: string;
  readonly etcdKeyfile: string;
  readonly etcdPrefix: string;
  readonly etcdCompactionInterval: number;
  readonly eventTtl: number;
  readonly clientCaFile: string;
  readonly tokenAuthFile: string;
  readonly anonymousAuth: boolean;
  readonly enableBootstrapTokenAuth: boolean;
  readonly apiAudiences: readonly string[];
  readonly serviceAccountIssuer: readonly string[];
  readonly serviceAccountKeyFile: readonly string[];
  readonly serviceAccountSigningKeyFile: string;
  readonly rootCaFile: string;
  readonly clusterSigningDuration: number;
  readonly authorizationMode: readonly string[];
  readonly enableAdmissionPlugins: readonly string[];
  readonly disableAdmissionPlugins: readonly string[];
  readonly admissionControlConfigFile: string;
  readonly defaultNotReadyTolerationSeconds: number;
  readonly defaultUnreachableTolerationSeconds: number;
  readonly runtimeConfig: readonly string[];
  readonly serviceClusterIpRange: readonly string[];
  readonly serviceNodePortRange: string;
  readonly maxConnectionsPerAddress: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly enableAggregatorRouting: boolean;
  readonly nodeagentClientCertificate: string;
  readonly nodeagentClientKey: string;
  readonly nodeagentCertificateAuthority: string;
  readonly nodeagentSkipTlsVerify: boolean;
  readonly nodeagentPreferredAddressTypes: readonly string[];
  readonly nodeagentPort: number;
  readonly nodeagentTimeout: number;
  readonly controllers: readonly string[];
  readonly scheduler: boolean;
  readonly nodeMonitorGracePeriod: number;
  readonly nodeStartupGracePeriod: number;
  readonly terminatedPodGcThreshold: number;
  readonly featureGates: readonly string[];
  readonly verbosity: number;
}

export const SETTINGS: SettingsOf<ServerConfig> = {
  dataDir: {
    flag: 'data-dir',
    type: 'string',
    default: '/var/lib/control-plane-lite',
    group: 'Storage',
    help: 'directory for the store, certificates and the administrator’s platconfig',
  },
  vocabulary: {
    flag: 'vocabulary',
    type: 'string',
    default: 'plat',
    choices: ['plat', 'kubernetes'],
    group: 'API',
    help: 'naming scheme of API groups, label keys and other identifiers',
  },
  bindAddress: {
    flag: 'bind-address',
    type: 'string',
    default: '0.0.0.0',
    group: 'Serving',
    help: 'address to listen on',
  },
  securePort: {
    flag: 'secure-port',
    type: 'integer',
    default: 6443,
    min: 0,
    max: 65_535,
    group: 'Serving',
    help: 'port for TLS; 0 selects a free one',
  },
  advertiseAddress: {
    flag: 'advertise-address',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'address advertised to clients; default: the bind address, or the first address of the machine',
  },
  certSANs: {
    flag: 'cert-sans',
    type: 'list',
    default: [],
    group: 'Serving',
    help: 'additional names and addresses for the generated certificate',
  },
  tlsCertFile: {
    flag: 'tls-cert-file',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'serving certificate, used instead of a generated one',
  },
  tlsPrivateKeyFile: {
    flag: 'tls-private-key-file',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'private key of --tls-cert-file',
  },
  requestTimeout: {
    flag: 'request-timeout',
    type: 'duration',
    default: '1m',
    group: 'Serving',
    help: 'maximum duration of a request other than a watch',
  },
  livezGracePeriod: {
    flag: 'livez-grace-period',
    type: 'duration',
    default: '0s',
    group: 'Serving',
    help: 'startup time during which liveness does not fail',
  },
  shutdownDelayDuration: {
    flag: 'shutdown-delay-duration',
    type: 'duration',
    default: '0s',
    group: 'Serving',
    help: 'time between failing readiness and closing the listener',
  },
  etcdServers: {
    flag: 'etcd-servers',
    type: 'list',
    default: [],
    group: 'Storage',
    help: 'etcd endpoints; default: the embedded store',
  },
  etcdCafile: {
    flag: 'etcd-cafile',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'CA of the etcd servers',
  },
  etcdCertfile: {
    flag: 'etcd-certfile',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'client certificate for etcd',
  },
  etcdKeyfile: {
    flag: 'etcd-keyfile',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'client key for etcd',
  },
  etcdPrefix: {
    flag: 'etcd-prefix',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'prefix of every key in etcd',
  },
  etcdCompactionInterval: {
    flag: 'compaction-interval',
    aliases: ['etcd-compaction-interval'],
    type: 'duration',
    default: '5m',
    group: 'Storage',
    help: 'history retained for watches and paged lists',
  },
  eventTtl: {
    flag: 'event-ttl',
    type: 'duration',
    default: '1h',
    group: 'Storage',
    help: 'retention time of events',
  },
  ...ENCRYPTION,
  clientCaFile: {
    flag: 'client-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CAs of client certificates, in addition to the server’s own',
  },
  tokenAuthFile: {
    flag: 'token-auth-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'static tokens: token,user,uid,"group1,group2"',
  },
  anonymousAuth: {
    flag: 'anonymous-auth',
    type: 'boolean',
    default: true,
    defaultText: 'true; false if --authorization-mode includes AlwaysAllow',
    group: 'Authentication',
    help: 'authenticate requests without credentials as system:anonymous',
  },
  enableBootstrapTokenAuth: {
    flag: 'enable-bootstrap-token-auth',
    type: 'boolean',
    default: false,
    group: 'Authentication',
    help: 'authenticate bootstrap tokens, which nodes join with, and sign cluster-info for them',
  },
  apiAudiences: {
    flag: 'api-audiences',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'audiences that identify this server in tokens; default: the issuer',
  },
  serviceAccountIssuer: {
    flag: 'service-account-issuer',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'issuer of tokens; tokens of additional issuers are accepted as well; default: https:// and the API service’s name',
  },
  serviceAccountKeyFile: {
    flag: 'service-account-key-file',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'keys that verify tokens, in addition to the signing key',
  },
  serviceAccountSigningKeyFile: {
    flag: 'service-account-signing-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'key that signs tokens, the same for servers that share an etcd; default: a generated key',
  },
  rootCaFile: {
    flag: 'root-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CA published to pods as root CA; default: the server’s own',
  },
  clusterSigningDuration: {
    flag: 'cluster-signing-duration',
    type: 'duration',
    default: '8760h',
    group: 'Authentication',
    help: 'maximum duration of signed certificates; requests may specify a shorter one',
  },
  authorizationMode: {
    flag: 'authorization-mode',
    type: 'list',
    default: ['Node', 'RBAC'],
    choices: ['AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC'],
    group: 'Authorization',
    help: 'authorizers, in the order in which they are consulted',
  },
  enableAdmissionPlugins: {
    flag: 'enable-admission-plugins',
    type: 'list',
    default: [],
    choices: ADMISSION_PLUGINS.map(({ name }) => name),
    group: 'Authorization',
    help: 'admission plugins to enable in addition to the default ones; their order does not matter',
  },
  disableAdmissionPlugins: {
    flag: 'disable-admission-plugins',
    type: 'list',
    default: [],
    choices: ADMISSION_PLUGINS.map(({ name }) => name),
    group: 'Authorization',
    help: 'admission plugins to disable',
  },
  admissionControlConfigFile: {
    flag: 'admission-control-config-file',
    type: 'string',
    default: '',
    group: 'Authorization',
    help: 'admission plugin settings, inline or in files that this file references',
  },
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
  runtimeConfig: {
    flag: 'runtime-config',
    type: 'list',
    default: [],
    group: 'API',
    help: 'API versions or resources to enable or disable: batch/v1=false, api/all=true',
  },
  serviceClusterIpRange: {
    flag: 'service-cluster-ip-range',
    type: 'list',
    default: ['10.0.0.0/24'],
    group: 'API',
    help: 'IP range of services; one range, or one per IP family',
  },
  serviceNodePortRange: {
    flag: 'service-node-port-range',
    type: 'string',
    default: '30000-32767',
    group: 'API',
    help: 'port range of node ports',
  },
  maxConnectionsPerAddress: {
    flag: 'max-connections-per-address',
    type: 'integer',
    default: 7500,
    min: 1,
    max: MAX_COUNT,
    group: 'Limits',
    help: 'maximum connections per client address, of 10000 in total; raise it for clients behind a proxy',
  },
  maxRequestsInflight: {
    flag: 'max-requests-inflight',
    type: 'integer',
    default: 400,
    min: 1,
    max: MAX_COUNT,
    group: 'Limits',
    help: 'maximum read-only requests in flight',
  },
  maxMutatingRequestsInflight: {
    flag: 'max-mutating-requests-inflight',
    type: 'integer',
    default: 200,
    min: 1,
    max: MAX_COUNT,
    group: 'Limits',
    help: 'maximum mutating requests in flight',
  },
  ...AUDIT,
  enableAggregatorRouting: {
    flag: 'enable-aggregator-routing',
    type: 'boolean',
    default: true,
    group: 'API',
    help: 'route to the endpoints of aggregated servers instead of their cluster IPs',
  },
  controllers: {
    flag: 'controllers',
    type: 'list',
    default: ['*'],
    group: 'Other',
    help: 'controllers to run: *, name, or -name for all but that one',
  },
  scheduler: {
    flag: 'scheduler',
    type: 'boolean',
    default: true,
    group: 'Other',
    help: 'run the built-in scheduler; --no-scheduler leaves scheduling to another program',
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
  featureGates: {
    flag: 'feature-gates',
    type: 'list',
    default: [],
    group: 'API',
    help: `name=true or name=false; with an effect here: ${effectiveGates('control-plane-lite').join(', ')}; others are accepted without effect`,
  },
  verbosity: {
    flag: 'v',
    type: 'integer',
    default: 2,
    min: 0,
    max: 10,
    group: 'Other',
    help: 'log verbosity: 4 shows decisions, 6 every detail',
  },
};
