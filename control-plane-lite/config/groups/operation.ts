/** Settings of operation: limits, the audit log, controllers and logs. */
import { MAX_COUNT, type SettingsOf } from './setting.ts';

export interface OperationConfig {
  readonly maxConnectionsPerAddress: number;
  readonly maxRequestsInflight: number;
  readonly maxMutatingRequestsInflight: number;
  readonly enablePriorityAndFairness: boolean;
  readonly identityLeaseDurationSeconds: number;
  readonly identityLeaseRenewIntervalSeconds: number;
  readonly profiling: boolean;
  readonly enableLogsHandler: boolean;
  readonly controllers: readonly string[];
  readonly scheduler: boolean;
  readonly verbosity: number;
}

export const OPERATION: SettingsOf<OperationConfig> = {
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
  enablePriorityAndFairness: {
    flag: 'enable-priority-and-fairness',
    type: 'boolean',
    default: true,
    group: 'Limits',
    help: 'divide the sum of both maximums among priority levels, as FlowSchemas and PriorityLevelConfigurations say, instead of applying each; needs the feature gate APIPriorityAndFairness',
  },
  identityLeaseDurationSeconds: {
    flag: 'identity-lease-duration-seconds',
    type: 'integer',
    default: 3600,
    min: 1,
    max: MAX_COUNT,
    group: 'Other',
    help: 'time without a renewal, in seconds, after which the Lease of a server is deleted; needs the feature gate APIServerIdentity',
  },
  identityLeaseRenewIntervalSeconds: {
    flag: 'identity-lease-renew-interval-seconds',
    type: 'integer',
    default: 10,
    min: 1,
    max: MAX_COUNT,
    group: 'Other',
    help: 'interval, in seconds, in which the server renews its Lease; needs the feature gate APIServerIdentity',
  },
  profiling: {
    flag: 'profiling',
    type: 'boolean',
    default: true,
    group: 'Other',
    help: 'serve profiles of the server at /debug/pprof/, to those who may get that path',
  },
  enableLogsHandler: {
    flag: 'enable-logs-handler',
    type: 'boolean',
    default: true,
    group: 'Other',
    help: 'serve the files below /var/log at /logs/, to those who may get that path',
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
