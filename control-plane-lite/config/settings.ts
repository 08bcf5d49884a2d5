/** Every setting of the server, once: its flag, type, default and help. The command line, `--help` and the checks
 *  come from this table. */
import { effectiveGates } from '#api/schema/gate-effects.ts';
import { ADMISSION_PLUGINS } from '../admission/names.ts';

interface Common {
  /** Without dashes. */
  readonly flag: string;
  readonly help: string;
  readonly group: Group;
  /** Other spellings. */
  readonly aliases?: readonly string[];
}

export type Group =
  | 'Serving'
  | 'Storage'
  | 'Authentication'
  | 'Authorization'
  | 'API'
  | 'Limits'
  | 'Nodes'
  | 'Audit'
  | 'Other';

export type Setting =
  | (Common & { readonly type: 'string'; readonly default: string; readonly choices?: readonly string[] })
  | (Common & {
      readonly type: 'list';
      readonly default: readonly string[];
      readonly choices?: readonly string[];
    })
  | (Common & {
      readonly type: 'boolean';
      readonly default: boolean;
      /** What `--help` shows where the default depends on other settings. */
      readonly defaultText?: string;
    })
  | (Common & {
      readonly type: 'integer';
      readonly default: number;
      readonly min: number;
      readonly max: number;
    })
  /** Text such as `1m30s`; its value is in ms. */
  | (Common & { readonly type: 'duration'; readonly default: string });

const MAX = 1_000_000;
/** The longest time that fits into a number of pods' fields. */
const MAX_SECONDS = 2 ** 31 - 1;

/** The settings that can have a value of this type. */
type SettingOf<V> = Extract<
  Setting,
  {
    readonly type: V extends boolean
      ? 'boolean'
      : V extends number
        ? 'integer' | 'duration'
        : V extends string
          ? 'string'
          : 'list';
  }
>;

/** The configuration; durations are in ms. */
export interface ServerConfig {
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
  readonly auditLogPath: string;
  readonly auditPolicyFile: string;
  readonly auditLogMaxsize: number;
  readonly auditLogMaxbackup: number;
  readonly auditLogMaxage: number;
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

export const SETTINGS: { readonly [K in keyof ServerConfig]: SettingOf<ServerConfig[K]> } = {
  dataDir: {
    flag: 'data-dir',
    type: 'string',
    default: '/var/lib/control-plane-lite',
    group: 'Storage',
    help: 'folder for the store, certificates and the administrator’s platconfig',
  },
  vocabulary: {
    flag: 'vocabulary',
    type: 'string',
    default: 'plat',
    choices: ['plat', 'kubernetes'],
    group: 'API',
    help: 'words that API groups, labels and the like are spelled with',
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
    help: 'port for TLS; 0 takes a free one',
  },
  advertiseAddress: {
    flag: 'advertise-address',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'address that clients are told; default: the bind address, or the first of the machine',
  },
  certSANs: {
    flag: 'cert-sans',
    type: 'list',
    default: [],
    group: 'Serving',
    help: 'further names and addresses for the certificate that is made',
  },
  tlsCertFile: {
    flag: 'tls-cert-file',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'certificate to serve instead of one that is made',
  },
  tlsPrivateKeyFile: {
    flag: 'tls-private-key-file',
    type: 'string',
    default: '',
    group: 'Serving',
    help: 'its key',
  },
  requestTimeout: {
    flag: 'request-timeout',
    type: 'duration',
    default: '1m',
    group: 'Serving',
    help: 'longest time for a request that is no watch',
  },
  livezGracePeriod: {
    flag: 'livez-grace-period',
    type: 'duration',
    default: '0s',
    group: 'Serving',
    help: 'time to start up during which liveness does not fail',
  },
  shutdownDelayDuration: {
    flag: 'shutdown-delay-duration',
    type: 'duration',
    default: '0s',
    group: 'Serving',
    help: 'time between failing readiness and taking no more connections',
  },
  etcdServers: {
    flag: 'etcd-servers',
    type: 'list',
    default: [],
    group: 'Storage',
    help: 'etcd endpoints; without them the store is embedded',
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
  etcdKeyfile: { flag: 'etcd-keyfile', type: 'string', default: '', group: 'Storage', help: 'its key' },
  etcdPrefix: {
    flag: 'etcd-prefix',
    type: 'string',
    default: '',
    group: 'Storage',
    help: 'stands before every key in etcd',
  },
  etcdCompactionInterval: {
    flag: 'compaction-interval',
    aliases: ['etcd-compaction-interval'],
    type: 'duration',
    default: '5m',
    group: 'Storage',
    help: 'history that is kept for watches and pages',
  },
  eventTtl: {
    flag: 'event-ttl',
    type: 'duration',
    default: '1h',
    group: 'Storage',
    help: 'time that events are kept',
  },
  clientCaFile: {
    flag: 'client-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'CAs of client certificates, beside the server’s own',
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
    help: 'let in requests without credentials, as system:anonymous',
  },
  enableBootstrapTokenAuth: {
    flag: 'enable-bootstrap-token-auth',
    type: 'boolean',
    default: false,
    group: 'Authentication',
    help: 'let in machines with a bootstrap token, by which they become nodes, and sign cluster-info for them',
  },
  apiAudiences: {
    flag: 'api-audiences',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'what the server is called as the receiver of tokens; default: the issuer',
  },
  serviceAccountIssuer: {
    flag: 'service-account-issuer',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'issuer of tokens; those of further ones are taken as well; default: https:// and the API service’s name',
  },
  serviceAccountKeyFile: {
    flag: 'service-account-key-file',
    type: 'list',
    default: [],
    group: 'Authentication',
    help: 'keys whose tokens are taken, beside the signing key',
  },
  serviceAccountSigningKeyFile: {
    flag: 'service-account-signing-key-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'key that signs tokens, the same for servers that share an etcd; default: one that is made',
  },
  rootCaFile: {
    flag: 'root-ca-file',
    type: 'string',
    default: '',
    group: 'Authentication',
    help: 'authority that pods are told to trust; default: the server’s own',
  },
  clusterSigningDuration: {
    flag: 'cluster-signing-duration',
    type: 'duration',
    default: '8760h',
    group: 'Authentication',
    help: 'longest time that certificates are signed for; requests may ask for less',
  },
  authorizationMode: {
    flag: 'authorization-mode',
    type: 'list',
    default: ['Node', 'RBAC'],
    choices: ['AlwaysAllow', 'AlwaysDeny', 'Node', 'RBAC'],
    group: 'Authorization',
    help: 'asked in this order',
  },
  enableAdmissionPlugins: {
    flag: 'enable-admission-plugins',
    type: 'list',
    default: [],
    choices: ADMISSION_PLUGINS.map(({ name }) => name),
    group: 'Authorization',
    help: 'plugins that look at changes, beside those that do unless disabled; their order does not matter',
  },
  disableAdmissionPlugins: {
    flag: 'disable-admission-plugins',
    type: 'list',
    default: [],
    choices: ADMISSION_PLUGINS.map(({ name }) => name),
    group: 'Authorization',
    help: 'plugins that look at nothing',
  },
  admissionControlConfigFile: {
    flag: 'admission-control-config-file',
    type: 'string',
    default: '',
    group: 'Authorization',
    help: 'settings of plugins, each in this file or in one that it names',
  },
  defaultNotReadyTolerationSeconds: {
    flag: 'default-not-ready-toleration-seconds',
    type: 'integer',
    default: 300,
    min: 0,
    max: MAX_SECONDS,
    group: 'Nodes',
    help: 'time that pods which say nothing of it stay on a node that is not ready',
  },
  defaultUnreachableTolerationSeconds: {
    flag: 'default-unreachable-toleration-seconds',
    type: 'integer',
    default: 300,
    min: 0,
    max: MAX_SECONDS,
    group: 'Nodes',
    help: 'time that pods which say nothing of it stay on a node that is out of reach',
  },
  runtimeConfig: {
    flag: 'runtime-config',
    type: 'list',
    default: [],
    group: 'API',
    help: 'group/version or group/version/resource to serve or not: batch/v1=false, api/all=true',
  },
  serviceClusterIpRange: {
    flag: 'service-cluster-ip-range',
    type: 'list',
    default: ['10.0.0.0/24'],
    group: 'API',
    help: 'addresses of services; one range, or one of each family',
  },
  serviceNodePortRange: {
    flag: 'service-node-port-range',
    type: 'string',
    default: '30000-32767',
    group: 'API',
    help: 'node ports of services',
  },
  maxConnectionsPerAddress: {
    flag: 'max-connections-per-address',
    type: 'integer',
    default: 7500,
    min: 1,
    max: MAX,
    group: 'Limits',
    help: 'connections of one client address, of 10000 in all; more for clients that come through a proxy',
  },
  maxRequestsInflight: {
    flag: 'max-requests-inflight',
    type: 'integer',
    default: 400,
    min: 1,
    max: MAX,
    group: 'Limits',
    help: 'reading requests at a time',
  },
  maxMutatingRequestsInflight: {
    flag: 'max-mutating-requests-inflight',
    type: 'integer',
    default: 200,
    min: 1,
    max: MAX,
    group: 'Limits',
    help: 'writing requests at a time',
  },
  auditLogPath: {
    flag: 'audit-log-path',
    type: 'string',
    default: '',
    group: 'Audit',
    help: 'file for audit events; - for standard output',
  },
  auditPolicyFile: {
    flag: 'audit-policy-file',
    type: 'string',
    default: '',
    group: 'Audit',
    help: 'what is recorded',
  },
  auditLogMaxsize: {
    flag: 'audit-log-maxsize',
    type: 'integer',
    default: 100,
    min: 0,
    max: MAX,
    group: 'Audit',
    help: 'megabytes after which the file is rotated; 0: never',
  },
  auditLogMaxbackup: {
    flag: 'audit-log-maxbackup',
    type: 'integer',
    default: 10,
    min: 0,
    max: MAX,
    group: 'Audit',
    help: 'rotated files to keep; 0: all',
  },
  auditLogMaxage: {
    flag: 'audit-log-maxage',
    type: 'integer',
    default: 0,
    min: 0,
    max: MAX,
    group: 'Audit',
    help: 'days to keep rotated files; 0: forever',
  },
  enableAggregatorRouting: {
    flag: 'enable-aggregator-routing',
    type: 'boolean',
    default: true,
    group: 'API',
    help: 'reach servers of APIServices at their endpoints instead of at the addresses of their services',
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
    help: 'give pods their nodes; --no-scheduler leaves it to another program',
  },
  nodeMonitorGracePeriod: {
    flag: 'node-monitor-grace-period',
    type: 'duration',
    default: '40s',
    group: 'Nodes',
    help: 'how long a node may be silent before it is lost',
  },
  nodeStartupGracePeriod: {
    flag: 'node-startup-grace-period',
    type: 'duration',
    default: '1m',
    group: 'Nodes',
    help: 'the same for a node that has not yet said how it is',
  },
  terminatedPodGcThreshold: {
    flag: 'terminated-pod-gc-threshold',
    type: 'integer',
    default: 12_500,
    min: 0,
    max: MAX,
    group: 'Nodes',
    help: 'pods at their end that may stay; 0: any number',
  },
  nodeagentClientCertificate: {
    flag: 'nodeagent-client-certificate',
    type: 'string',
    default: '',
    group: 'Nodes',
    help: 'certificate by which the server proves itself to node agents; default: one that is made',
  },
  nodeagentClientKey: {
    flag: 'nodeagent-client-key',
    type: 'string',
    default: '',
    group: 'Nodes',
    help: 'its key',
  },
  nodeagentCertificateAuthority: {
    flag: 'nodeagent-certificate-authority',
    type: 'string',
    default: '',
    group: 'Nodes',
    help: 'CAs of the certificates of node agents, which are then checked for the address; default: the CA of the signer of this server, and in the name of the node',
  },
  nodeagentSkipTlsVerify: {
    flag: 'nodeagent-skip-tls-verify',
    type: 'boolean',
    default: false,
    group: 'Nodes',
    help: 'do not check the certificates of node agents: for agents that sign their own',
  },
  nodeagentPreferredAddressTypes: {
    flag: 'nodeagent-preferred-address-types',
    type: 'list',
    default: ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
    choices: ['InternalIP', 'ExternalIP', 'Hostname', 'InternalDNS', 'ExternalDNS'],
    group: 'Nodes',
    help: 'addresses of nodes by which their agents are reached, the best first',
  },
  nodeagentPort: {
    flag: 'nodeagent-port',
    type: 'integer',
    default: 10_250,
    min: 1,
    max: 65_535,
    group: 'Nodes',
    help: 'port of the agent of a node that tells none',
  },
  nodeagentTimeout: {
    flag: 'nodeagent-timeout',
    type: 'duration',
    default: '5s',
    group: 'Nodes',
    help: 'longest time to connect to the agent of a node',
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
    help: 'how much is logged: 4 shows decisions, 6 every detail',
  },
};
