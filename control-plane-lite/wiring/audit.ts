/** The audit as configured: policy and backends. */
import { readFile } from 'node:fs/promises';
import { parseYaml } from '#api/codec/yaml.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import type { ServerConfig } from '../config/settings.ts';
import { createAuditor } from '../http/audit/audit.ts';
import type { AuditBackend, AuditMode, BackendOptions } from '../http/audit/backend.ts';
import { createLogBackend } from '../http/audit/log-backend.ts';
import { createDescriptorWriter, type LineWriter, openLogFile } from '../http/audit/log-file.ts';
import { type AuditMetrics, createAuditMetrics } from '../http/audit/metrics.ts';
import { type AuditPolicy, parseAuditPolicy } from '../http/audit/policy.ts';
import { createWebhookBackend } from '../http/audit/webhook-backend.ts';
import type { Auditor } from '../http/request/server-request.ts';
import { loadBackend } from '../webhooks/backend.ts';
import type { Core } from './core.ts';

const STANDARD_OUTPUT = 1;
const MEGABYTE = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface Audit {
  readonly auditor: Auditor;
  /** Resolves once everything has been written. Must be called when no request is left. */
  close(): Promise<void>;
}

/** `undefined` without a log and without a webhook. @throws Error that names the invalid file */
export async function createAudit(core: Core, registry: MetricsRegistry): Promise<Audit | undefined> {
  const { config, clock, vocabulary } = core;
  if (config.auditLogPath === '' && config.auditWebhookConfigFile === '') return undefined;
  const domain = vocabulary.apiGroupDomain;
  const policy = await readPolicy(config.auditPolicyFile, domain);
  const metrics = createAuditMetrics(registry);
  const backends = [
    ...(config.auditLogPath === '' ? [] : [await createLog(core, metrics)]),
    ...(config.auditWebhookConfigFile === '' ? [] : [await createWebhook(core, metrics)]),
  ];
  return {
    auditor: createAuditor({ clock, metrics, backends }, { policy, domain }),
    async close() {
      await Promise.all(backends.map((backend) => backend.close()));
    },
  };
}

const modeOf = (mode: string): AuditMode =>
  mode === 'blocking' || mode === 'blocking-strict' ? mode : 'batch';

function logOptions(config: ServerConfig): BackendOptions {
  const { auditLogBatchThrottleQps: perSecond, auditLogBatchThrottleBurst: burst } = config;
  const truncation = {
    maxBatchBytes: config.auditLogTruncateMaxBatchSize,
    maxEventBytes: config.auditLogTruncateMaxEventSize,
  };
  return {
    mode: modeOf(config.auditLogMode),
    batch: {
      bufferSize: config.auditLogBatchBufferSize,
      maxSize: config.auditLogBatchMaxSize,
      maxWaitMs: config.auditLogBatchMaxWait,
      ...(config.auditLogBatchThrottleEnable ? { throttle: { perSecond, burst } } : {}),
    },
    ...(config.auditLogTruncateEnabled ? { truncation } : {}),
  };
}

function webhookOptions(config: ServerConfig): BackendOptions {
  const { auditWebhookBatchThrottleQps: perSecond, auditWebhookBatchThrottleBurst: burst } = config;
  const truncation = {
    maxBatchBytes: config.auditWebhookTruncateMaxBatchSize,
    maxEventBytes: config.auditWebhookTruncateMaxEventSize,
  };
  return {
    mode: modeOf(config.auditWebhookMode),
    batch: {
      bufferSize: config.auditWebhookBatchBufferSize,
      maxSize: config.auditWebhookBatchMaxSize,
      maxWaitMs: config.auditWebhookBatchMaxWait,
      ...(config.auditWebhookBatchThrottleEnable ? { throttle: { perSecond, burst } } : {}),
    },
    ...(config.auditWebhookTruncateEnabled ? { truncation } : {}),
  };
}

/** Logs and counts lost events. */
const reportLoss =
  ({ log }: Core, metrics: AuditMetrics, plugin: AuditBackend['name']) =>
  (err: Error, lost: number): void => {
    log.error({ err, lost, plugin }, 'Failed to record audit events');
    if (lost > 0) metrics.lost(plugin, lost);
  };

async function createLog(core: Core, metrics: AuditMetrics): Promise<AuditBackend> {
  const { clock, config } = core;
  const onLost = reportLoss(core, metrics, 'log');
  const writer = await openWriter(core, onLost);
  const format = config.auditLogFormat === 'legacy' ? 'legacy' : 'json';
  return createLogBackend({ clock, writer, onLost }, { ...logOptions(config), format });
}

async function createWebhook(core: Core, metrics: AuditMetrics): Promise<AuditBackend> {
  const { clock, config, vocabulary, log, checkIdentity } = core;
  const service = await loadBackend(config.auditWebhookConfigFile, { log, checkIdentity });
  return createWebhookBackend(
    { clock, service, onLost: reportLoss(core, metrics, 'webhook') },
    {
      ...webhookOptions(config),
      apiVersion: `audit.${vocabulary.apiGroupDomain}/v1`,
      initialBackoffMs: config.auditWebhookInitialBackoff,
    },
  );
}

async function openWriter(
  { config, clock }: Core,
  onError: (err: Error, lost: number) => void,
): Promise<LineWriter> {
  const deps = { clock, onError };
  if (config.auditLogPath === '-') return createDescriptorWriter(deps, STANDARD_OUTPUT);
  return openLogFile(deps, {
    path: config.auditLogPath,
    maxBytes: config.auditLogMaxsize === 0 ? Number.POSITIVE_INFINITY : config.auditLogMaxsize * MEGABYTE,
    maxBackups: config.auditLogMaxbackup,
    maxAgeMs: config.auditLogMaxage * DAY_MS,
    compress: config.auditLogCompress,
  });
}

/** Policy without a file: the metadata of every request. */
async function readPolicy(file: string, domain: string): Promise<AuditPolicy> {
  if (file === '') {
    return parseAuditPolicy(
      { apiVersion: `audit.${domain}/v1`, kind: 'Policy', rules: [{ level: 'Metadata' }] },
      domain,
    );
  }
  try {
    const [document] = parseYaml(await readFile(file, 'utf8'));
    return parseAuditPolicy(document?.value, domain);
  } catch (cause) {
    throw new Error(`--audit-policy-file ${file} cannot be used`, { cause });
  }
}
