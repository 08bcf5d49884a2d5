/** Recommended size of a target: the largest proposal of the metrics of its autoscaler. Reads metrics, writes nothing.
 *  Source: upstream's autoscaler, release 1.24. */
import type { MetricSpec, MetricStatus } from '#api/gen/autoscaling-v2.ts';
import { type Computed, computeMetric, type MetricContext, MetricFailure } from './compute-metric.ts';
import { type Verdict, verdict } from './conditions.ts';

export interface Recommended {
  readonly kind: 'recommended';
  readonly replicas: number;
  /** Name of the metric that decided. */
  readonly metric: string;
  readonly statuses: readonly MetricStatus[];
  readonly verdict: Verdict;
  readonly failures: readonly MetricFailure[];
}

export interface NoRecommendation {
  readonly kind: 'failed';
  readonly message: string;
  readonly verdict: Verdict;
  readonly failures: readonly MetricFailure[];
}

/** Place of a metric without a value, so that the others stay at theirs. */
const NO_STATUS: MetricStatus = { type: '' };

const isFailure = (result: Computed | MetricFailure): result is MetricFailure =>
  result instanceof MetricFailure;

async function computeOrFail(context: MetricContext, spec: MetricSpec): Promise<Computed | MetricFailure> {
  try {
    return await computeMetric(context, spec);
  } catch (thrown) {
    if (thrown instanceof MetricFailure) return thrown;
    throw thrown;
  }
}

/** Decides from the results of all metrics, in their order. A target never shrinks while a metric fails. Pure. */
function decideRecommendation(
  results: readonly (Computed | MetricFailure)[],
  specReplicas: number,
): Recommended | NoRecommendation {
  const failures = results.filter(isFailure);
  let best: Computed | undefined;
  for (const result of results) {
    if (isFailure(result)) continue;
    if (best === undefined || best.replicas === 0 || result.replicas > best.replicas) best = result;
  }
  const [first] = failures;
  if (best === undefined || (first !== undefined && best.replicas < specReplicas)) {
    const count = `${failures.length} invalid out of ${results.length}`;
    return {
      kind: 'failed',
      message: `invalid metrics (${count}), first error is: ${first?.message ?? 'no metric is given'}`,
      verdict: verdict(
        'ScalingActive',
        'False',
        first?.reason ?? 'InvalidMetricSourceType',
        `the HPA was unable to compute the replica count: ${first?.detail ?? 'no metric is given'}`,
      ),
      failures,
    };
  }
  return {
    kind: 'recommended',
    replicas: best.replicas,
    metric: best.name,
    statuses: results.map((result) => (isFailure(result) ? NO_STATUS : result.status)),
    verdict: verdict(
      'ScalingActive',
      'True',
      'ValidMetricFound',
      `the HPA was able to successfully calculate a replica count from ${best.name}`,
    ),
    failures,
  };
}

export async function recommendSize(
  context: MetricContext,
  metrics: readonly MetricSpec[],
): Promise<Recommended | NoRecommendation> {
  const results = await Promise.all(metrics.map((spec) => computeOrFail(context, spec)));
  return decideRecommendation(results, context.specReplicas);
}
