/** The audit log as configured. */
import { readFile } from 'node:fs/promises';
import { parseYaml } from '#api/codec/yaml.ts';
import type { MetricsRegistry } from '#api/kit/metrics.ts';
import { createAuditor } from '../http/audit/audit.ts';
import { createDescriptorWriter, type LineWriter, openLogFile } from '../http/audit/log-file.ts';
import { type AuditPolicy, parseAuditPolicy } from '../http/audit/policy.ts';
import type { Auditor } from '../http/request/server-request.ts';
import type { Core } from './core.ts';

const STANDARD_OUTPUT = 1;
const MEGABYTE = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface Audit {
  readonly auditor: Auditor;
  /** Resolves once everything has been written. Must be called when no request is left. */
  close(): Promise<void>;
}

/** `undefined` without `--audit-log-path`. @throws Error that names the invalid file */
export async function createAudit(core: Core, registry: MetricsRegistry): Promise<Audit | undefined> {
  const { config, clock, vocabulary } = core;
  if (config.auditLogPath === '') return undefined;
  const domain = vocabulary.apiGroupDomain;
  const policy = await readPolicy(config.auditPolicyFile, domain);
  const writer = await openWriter(core);
  return {
    auditor: createAuditor({ clock, registry, writer }, { policy, domain }),
    close: () => writer.close(),
  };
}

async function openWriter({ config, clock, log }: Core): Promise<LineWriter> {
  const deps = {
    clock,
    onError: (err: Error, lost: number) => log.error({ err, lost }, 'Failed to write audit log'),
  };
  if (config.auditLogPath === '-') return createDescriptorWriter(deps, STANDARD_OUTPUT);
  return openLogFile(deps, {
    path: config.auditLogPath,
    maxBytes: config.auditLogMaxsize === 0 ? Number.POSITIVE_INFINITY : config.auditLogMaxsize * MEGABYTE,
    maxBackups: config.auditLogMaxbackup,
    maxAgeMs: config.auditLogMaxage * DAY_MS,
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
