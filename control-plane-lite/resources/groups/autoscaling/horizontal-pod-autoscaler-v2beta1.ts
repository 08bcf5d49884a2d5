/** HorizontalPodAutoscalers in version 2beta1: its metrics have the form that version 1 keeps in annotations, and it
 *  has no field for behavior, which stands in an annotation there too. Source: autoscaling/v2beta1. */
import type * as v1 from '#api/gen/autoscaling-v1.ts';
import type * as v2 from '#api/gen/autoscaling-v2.ts';
import type * as v2beta1 from '#api/gen/autoscaling-v2beta1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Conversion, KindEntry } from '../../contract.ts';
import { typed } from '../../view.ts';
import { kindStrategy } from '../kind.ts';
import { autoscalerRow } from './horizontal-pod-autoscaler.ts';
import { dropKept, keepBehavior, readBehavior } from './horizontal-pod-autoscaler-v1.ts';
import { metricStatusToV1, metricStatusToV2, metricToV1, metricToV2 } from './metric-conversion.ts';

/** The same members as in 2beta1, under the types that have been written down for version 1. */
interface Beta {
  readonly spec?: Omit<v2beta1.HorizontalPodAutoscalerSpec, 'metrics'> & {
    readonly metrics?: readonly v1.MetricSpec[];
  };
  readonly status?: Omit<v2beta1.HorizontalPodAutoscalerStatus, 'currentMetrics'> & {
    readonly currentMetrics?: readonly v1.MetricStatus[];
  };
}

function specToV2(draft: ApiObject, behavior: v2.HorizontalPodAutoscalerBehavior | undefined): void {
  const { spec } = typed<Beta>(draft);
  if (spec === undefined) return;
  draft['spec'] = {
    ...spec,
    ...(spec.metrics && { metrics: spec.metrics.map(metricToV2) }),
    ...(behavior && { behavior }),
  };
}

function statusToV2(draft: ApiObject): void {
  const { status } = typed<Beta>(draft);
  if (status?.currentMetrics) {
    draft['status'] = { ...status, currentMetrics: status.currentMetrics.map(metricStatusToV2) };
  }
}

function fromV2(draft: ApiObject, vocabulary: Vocabulary): void {
  const { spec, status } = typed<v2.HorizontalPodAutoscaler>(draft);
  if (spec !== undefined) {
    const { behavior, metrics, ...rest } = spec;
    keepBehavior(draft, vocabulary, behavior);
    draft['spec'] = { ...rest, ...(metrics && { metrics: metrics.map(metricToV1) }) };
  }
  if (status?.currentMetrics) {
    draft['status'] = { ...status, currentMetrics: status.currentMetrics.map(metricStatusToV1) };
  }
}

/** Between version 2beta1 and the stored version 2. */
function createAutoscalerBetaConversion(vocabulary: Vocabulary): Conversion {
  return {
    fromStorage(draft) {
      dropKept(draft, vocabulary);
      fromV2(draft, vocabulary);
      draft.apiVersion = 'autoscaling/v2beta1';
      return draft;
    },
    toStorage(draft) {
      specToV2(draft, readBehavior(draft, vocabulary));
      statusToV2(draft);
      dropKept(draft, vocabulary);
      draft.apiVersion = 'autoscaling/v2';
      return draft;
    },
  };
}

export function horizontalPodAutoscalerV2beta1(vocabulary: Vocabulary, stored: KindEntry): KindEntry {
  const row = kindStrategy<v2.HorizontalPodAutoscaler>({ row: autoscalerRow }).row;
  return {
    strategy: {
      ...stored.strategy,
      row(object, context) {
        const draft: ApiObject = { ...object };
        specToV2(draft, undefined);
        statusToV2(draft);
        return row?.(draft, context) ?? [];
      },
    },
    ...(stored.parts && { parts: stored.parts }),
    storedAs: {
      group: 'autoscaling',
      version: 'v2',
      conversion: createAutoscalerBetaConversion(vocabulary),
    },
  };
}
