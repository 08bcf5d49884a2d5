/** Settings of serving, limits and the audit log. */
import { MAX_COUNT, type SettingsOf } from './setting.ts';

export interface ServingConfig {
  readonly bindAddress: string;
  readonly securePort: number;
  readonly advertiseAddress: string;
  readonly certSANs: readonly string[];
  readonly tlsCertFile: string;
  readonly tlsPrivateKeyFile: string;
  readonly requestTimeout: number;
  readonly livezGracePeriod: number;
  readonly shutdownDelayDuration: number;
  readonly maxConnectionsPerAddress: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly auditLogPath: string;
  readonly auditPolicyFile: string;
  readonly auditLogMaxsize: number;
  readonly auditLogMaxbackup: number;
  readonly auditLogMaxage: number;
}

export const SERVING: SettingsOf<ServingConfig> = {
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
    help: 'audit policy that selects the recorded requests',
  },
  auditLogMaxsize: {
    flag: 'audit-log-maxsize',
    type: 'integer',
    default: 100,
    min: 0,
    max: MAX_COUNT,
    group: 'Audit',
    help: 'megabytes after which the file is rotated; 0: never',
  },
  auditLogMaxbackup: {
    flag: 'audit-log-maxbackup',
    type: 'integer',
    default: 10,
    min: 0,
    max: MAX_COUNT,
    group: 'Audit',
    help: 'rotated files to keep; 0: all',
  },
  auditLogMaxage: {
    flag: 'audit-log-maxage',
    type: 'integer',
    default: 0,
    min: 0,
    max: MAX_COUNT,
    group: 'Audit',
    help: 'days to keep rotated files; 0: forever',
  },
};
