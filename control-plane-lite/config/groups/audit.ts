/** Settings of the audit. */
import { VOCABULARIES } from '#api/vocabulary.ts';
import { MAX_COUNT, type SettingsOf } from './setting.ts';

export interface AuditConfig {
  readonly auditLogPath: string;
  readonly auditPolicyFile: string;
  readonly auditLogMaxsize: number;
  readonly auditLogMaxbackup: number;
  readonly auditLogMaxage: number;
  readonly auditLogMode: string;
  readonly auditLogFormat: string;
  readonly auditLogCompress: boolean;
  readonly auditLogVersion: string;
  readonly auditWebhookConfigFile: string;
  readonly auditWebhookInitialBackoff: number;
  readonly auditWebhookMode: string;
  readonly auditWebhookVersion: string;
  readonly auditLogBatchBufferSize: number;
  readonly auditLogBatchMaxSize: number;
  readonly auditLogBatchMaxWait: number;
  readonly auditLogBatchThrottleEnable: boolean;
  readonly auditLogBatchThrottleQps: number;
  readonly auditLogBatchThrottleBurst: number;
  readonly auditLogTruncateEnabled: boolean;
  readonly auditLogTruncateMaxBatchSize: number;
  readonly auditLogTruncateMaxEventSize: number;
  readonly auditWebhookBatchBufferSize: number;
  readonly auditWebhookBatchMaxSize: number;
  readonly auditWebhookBatchMaxWait: number;
  readonly auditWebhookBatchThrottleEnable: boolean;
  readonly auditWebhookBatchThrottleQps: number;
  readonly auditWebhookBatchThrottleBurst: number;
  readonly auditWebhookTruncateEnabled: boolean;
  readonly auditWebhookTruncateMaxBatchSize: number;
  readonly auditWebhookTruncateMaxEventSize: number;
}

const MAX_BYTES = 2 ** 31 - 1;
const group = 'Audit';

const count = (name: string, preset: number, help: string) =>
  ({ flag: name, type: 'integer', default: preset, min: 1, max: MAX_BYTES, group, help }) as const;
const flag = (name: string, preset: boolean, help: string) =>
  ({ flag: name, type: 'boolean', default: preset, group, help }) as const;
const time = (name: string, preset: string, help: string) =>
  ({ flag: name, type: 'duration', default: preset, group, help }) as const;
const choice = (name: string, choices: readonly [string, ...string[]], help: string) =>
  ({ flag: name, type: 'string', default: choices[0], choices, group, help }) as const;

const MODE_HELP =
  'batch: in the background; blocking: requests wait for their first event; blocking-strict: and fail if it is lost';
/** Of both vocabularies; there is only one version. */
const VERSIONS: readonly [string, ...string[]] = [
  'v1',
  ...Object.values(VOCABULARIES).map(({ apiGroupDomain }) => `audit.${apiGroupDomain}/v1`),
];

export const AUDIT: SettingsOf<AuditConfig> = {
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
  auditLogMode: choice('audit-log-mode', ['batch', 'blocking', 'blocking-strict'], `log: ${MODE_HELP}`),
  auditLogFormat: choice(
    'audit-log-format',
    ['json', 'legacy'],
    'json: whole events; legacy: a line of text each',
  ),
  auditLogCompress: flag('audit-log-compress', false, 'compress rotated files with gzip'),
  auditLogVersion: choice('audit-log-version', VERSIONS, 'log: version of the events'),
  auditWebhookConfigFile: {
    flag: 'audit-webhook-config-file',
    type: 'string',
    default: '',
    group,
    help: 'client configuration file of the service that receives audit events',
  },
  auditWebhookInitialBackoff: time(
    'audit-webhook-initial-backoff',
    '10s',
    'wait before the first of four retries',
  ),
  auditWebhookMode: choice(
    'audit-webhook-mode',
    ['batch', 'blocking', 'blocking-strict'],
    `webhook: ${MODE_HELP}`,
  ),
  auditWebhookVersion: choice('audit-webhook-version', VERSIONS, 'webhook: version of the events'),
  auditLogBatchBufferSize: count(
    'audit-log-batch-buffer-size',
    10_000,
    'log: events that wait or are being sent; beyond them events are lost',
  ),
  auditLogBatchMaxSize: count('audit-log-batch-max-size', 1, 'log: maximum events of a batch'),
  auditLogBatchMaxWait: time(
    'audit-log-batch-max-wait',
    '0s',
    'log: maximum wait of an event for its batch to fill; 0s: none',
  ),
  auditLogBatchThrottleEnable: flag(
    'audit-log-batch-throttle-enable',
    false,
    'log: limit the rate of batches',
  ),
  auditLogBatchThrottleQps: count('audit-log-batch-throttle-qps', 10, 'log: batches per second'),
  auditLogBatchThrottleBurst: count(
    'audit-log-batch-throttle-burst',
    15,
    'log: batches sent at once after a pause',
  ),
  auditLogTruncateEnabled: flag(
    'audit-log-truncate-enabled',
    false,
    'log: truncate events and split batches that are too large',
  ),
  auditLogTruncateMaxBatchSize: count(
    'audit-log-truncate-max-batch-size',
    10_485_760,
    'log: maximum bytes of a batch',
  ),
  auditLogTruncateMaxEventSize: count(
    'audit-log-truncate-max-event-size',
    102_400,
    'log: bytes beyond which an event loses its bodies, and is lost if it is still larger',
  ),
  auditWebhookBatchBufferSize: count(
    'audit-webhook-batch-buffer-size',
    10_000,
    'webhook: events that wait or are being sent; beyond them events are lost',
  ),
  auditWebhookBatchMaxSize: count('audit-webhook-batch-max-size', 400, 'webhook: maximum events of a batch'),
  auditWebhookBatchMaxWait: time(
    'audit-webhook-batch-max-wait',
    '30s',
    'webhook: maximum wait of an event for its batch to fill; 0s: none',
  ),
  auditWebhookBatchThrottleEnable: flag(
    'audit-webhook-batch-throttle-enable',
    true,
    'webhook: limit the rate of batches',
  ),
  auditWebhookBatchThrottleQps: count('audit-webhook-batch-throttle-qps', 10, 'webhook: batches per second'),
  auditWebhookBatchThrottleBurst: count(
    'audit-webhook-batch-throttle-burst',
    15,
    'webhook: batches sent at once after a pause',
  ),
  auditWebhookTruncateEnabled: flag(
    'audit-webhook-truncate-enabled',
    false,
    'webhook: truncate events and split batches that are too large',
  ),
  auditWebhookTruncateMaxBatchSize: count(
    'audit-webhook-truncate-max-batch-size',
    10_485_760,
    'webhook: maximum bytes of a batch',
  ),
  auditWebhookTruncateMaxEventSize: count(
    'audit-webhook-truncate-max-event-size',
    102_400,
    'webhook: bytes beyond which an event loses its bodies, and is lost if it is still larger',
  ),
};
