/** An admission chain whose metrics nobody reads. */
import { systemClock } from '#api/kit/clock.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import type { AdmissionPlugin } from '../admission/contract.ts';
import { createAdmissionMetrics } from '../admission/metrics.ts';
import type { AdmissionChain } from './deps.ts';
import { createAdmissionChain } from './verbs.ts';

export const createTestAdmission = (plugins: readonly AdmissionPlugin[]): AdmissionChain =>
  createAdmissionChain(plugins, {
    clock: systemClock,
    metrics: createAdmissionMetrics(createMetricsRegistry()),
  });
