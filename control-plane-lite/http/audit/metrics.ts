/** Metrics of the audit, under upstream's names. */
import type { MetricsRegistry } from '#api/kit/metrics.ts';

export interface AuditMetrics {
  recorded(): void;
  lost(plugin: string, count: number): void;
  rejected(): void;
}

export function createAuditMetrics(registry: MetricsRegistry): AuditMetrics {
  const events = registry.counter({
    name: 'apiserver_audit_event_total',
    help: 'Audit events passed to a backend.',
  });
  const failures = registry.counter({
    name: 'apiserver_audit_error_total',
    help: 'Audit events lost.',
    labels: ['plugin'],
  });
  const rejections = registry.counter({
    name: 'apiserver_audit_requests_rejected_total',
    help: 'Requests rejected because their audit event was lost.',
  });
  return {
    recorded: () => events.with().inc(),
    lost: (plugin, count) => failures.with(plugin).inc(count),
    rejected: () => rejections.with().inc(),
  };
}
