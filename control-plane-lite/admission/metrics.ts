/** Metrics of admission, under upstream's names. Source: upstream's admission metrics, release 1.24. */
import type { HistogramSeries, MetricsRegistry } from '#api/kit/metrics.ts';
import type { Operation } from './contract.ts';

/** Phase of admission, as upstream labels it. */
export type AdmissionPhase = 'admit' | 'validate';
/** Kind of a webhook, as upstream labels it. */
export type HookPhase = 'admit' | 'validating';
/** Why a webhook's call rejected a request: its failure, the server's, or neither. */
export type HookErrorType = 'calling_webhook_error' | 'apiserver_internal_error' | 'no_error';

/** Durations in seconds of what was admitted, and of what was rejected. */
export interface DurationSeries {
  readonly admitted: HistogramSeries;
  /** Created when it is first needed: most plugins never reject. */
  readonly rejected: () => HistogramSeries;
}

/** Outcome of one call. `code`: HTTP status, 0 without one. */
export interface HookCall {
  readonly name: string;
  readonly operation: Operation;
  readonly seconds: number;
  readonly code: number;
  readonly rejected: boolean;
}

export interface HookMetrics {
  called(call: HookCall): void;
  rejected(name: string, operation: Operation, error: HookErrorType, code: number): void;
  failedOpen(name: string): void;
}

export interface AdmissionMetrics {
  step(phase: AdmissionPhase, operation: Operation): DurationSeries;
  plugin(name: string, phase: AdmissionPhase, operation: Operation): DurationSeries;
  hooks(phase: HookPhase): HookMetrics;
}

const BUCKETS = [0.005, 0.025, 0.1, 0.5, 1, 2.5];
/** Bounds the label values of webhooks with strange status codes. */
const HIGHEST_CODE = 600;
const codeLabel = (code: number): string => String(Math.min(code, HIGHEST_CODE));

function createHookFamilies(registry: MetricsRegistry) {
  const labels = ['name', 'type', 'operation'];
  return {
    seconds: registry.histogram({
      name: 'apiserver_admission_webhook_admission_duration_seconds',
      help: 'Duration of a call of an admission webhook.',
      labels: [...labels, 'rejected'],
      buckets: BUCKETS,
    }),
    rejections: registry.counter({
      name: 'apiserver_admission_webhook_rejection_count',
      help: 'Requests that an admission webhook, or its failure, rejected.',
      labels: [...labels, 'error_type', 'rejection_code'],
    }),
    failuresOpen: registry.counter({
      name: 'apiserver_admission_webhook_fail_open_count',
      help: 'Failed calls of an admission webhook that were ignored.',
      labels: ['name', 'type'],
    }),
    requests: registry.counter({
      name: 'apiserver_admission_webhook_request_total',
      help: 'Calls of an admission webhook, by HTTP status.',
      labels: [...labels, 'code', 'rejected'],
    }),
  };
}

export function createAdmissionMetrics(registry: MetricsRegistry): AdmissionMetrics {
  const steps = registry.histogram({
    name: 'apiserver_admission_step_admission_duration_seconds',
    help: 'Duration of all plugins of one phase of admission.',
    labels: ['type', 'operation', 'rejected'],
    buckets: BUCKETS,
  });
  const plugins = registry.histogram({
    name: 'apiserver_admission_controller_admission_duration_seconds',
    help: 'Duration of one admission plugin.',
    labels: ['name', 'type', 'operation', 'rejected'],
    buckets: BUCKETS,
  });
  const { seconds, rejections, failuresOpen, requests } = createHookFamilies(registry);
  return {
    step: (phase, operation) => ({
      admitted: steps.with(phase, operation, 'false'),
      rejected: () => steps.with(phase, operation, 'true'),
    }),
    plugin: (name, phase, operation) => ({
      admitted: plugins.with(name, phase, operation, 'false'),
      rejected: () => plugins.with(name, phase, operation, 'true'),
    }),
    hooks: (phase) => ({
      called(call) {
        const rejected = String(call.rejected);
        requests.with(call.name, phase, call.operation, codeLabel(call.code), rejected).inc();
        seconds.with(call.name, phase, call.operation, rejected).observe(call.seconds);
      },
      rejected: (name, operation, error, code) =>
        rejections.with(name, phase, operation, error, codeLabel(code)).inc(),
      failedOpen: (name) => failuresOpen.with(name, phase).inc(),
    }),
  };
}
