/** HorizontalPodAutoscalers in version 1: one CPU percentage in a field of its own, all else in annotations that
 *  exist only in this version. Source: autoscaling/v1. */
import { parseJsonText } from '#api/codec/json-text.ts';
import type * as v1 from '#api/gen/autoscaling-v1.ts';
import type * as v2 from '#api/gen/autoscaling-v2.ts';
import { decode } from '#api/schema/decode.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Conversion, KindEntry } from '../../contract.ts';
import { typed } from '../../view.ts';
import { kindStrategy, type Mutable } from '../kind.ts';
import { autoscalerRow } from './horizontal-pod-autoscaler.ts';
import { metricStatusToV1, metricStatusToV2, metricToV1, metricToV2 } from './metric-conversion.ts';

type V1 = Mutable<v1.HorizontalPodAutoscaler>;
type V2 = Mutable<v2.HorizontalPodAutoscaler>;

const KEPT = ['metrics', 'behavior', 'current-metrics', 'conditions'] as const;
type Kept = (typeof KEPT)[number];

const keyOf = (vocabulary: Vocabulary, kept: Kept): string =>
  `autoscaling.alpha.${vocabulary.domain}/${kept}`;

/** Returns the index of the metric for the dedicated percentage field: the first CPU metric with a percentage. */
function cpuIndex(metrics: readonly v2.MetricSpec[]): number {
  return metrics.findIndex(
    ({ type, resource }) =>
      type === 'Resource' && resource?.name === 'cpu' && resource.target.averageUtilization !== undefined,
  );
}

function cpuMetric(averageUtilization: number): v2.MetricSpec {
  return { type: 'Resource', resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization } } };
}

function setAnnotation(draft: ApiObject, key: string, value: readonly unknown[] | object | undefined): void {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return;
  draft.metadata.annotations = { ...draft.metadata.annotations, [key]: JSON.stringify(value) };
}

/** Removes the annotations that represent fields. */
export function dropKept(draft: ApiObject, vocabulary: Vocabulary): void {
  const keys = new Set(KEPT.map((kept) => keyOf(vocabulary, kept)));
  const { annotations } = draft.metadata;
  if (annotations === undefined || !Object.keys(annotations).some((key) => keys.has(key))) return;
  const left = Object.entries(annotations).filter(([key]) => !keys.has(key));
  if (left.length === 0) delete draft.metadata.annotations;
  else draft.metadata.annotations = Object.fromEntries(left);
}

/** Parses an annotation; `undefined` if it is invalid. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the caller names the type in text as well
function readKept<T>(draft: ApiObject, key: string, typeRef: string): readonly T[] | undefined {
  const text = draft.metadata.annotations?.[key];
  if (text === undefined) return undefined;
  const parsed = parseJson(text);
  const items: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
  const decoded = items.map((item) => decode<T>(typeRef, item));
  return decoded.some(({ errors }) => errors.length > 0) ? undefined : decoded.map(({ value }) => value);
}

function parseJson(text: string): unknown {
  try {
    return parseJsonText(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** The behavior, in versions without a field for it. */
export function readBehavior(
  draft: ApiObject,
  vocabulary: Vocabulary,
): v2.HorizontalPodAutoscalerBehavior | undefined {
  const typeRef = 'autoscaling/v2.HorizontalPodAutoscalerBehavior';
  return readKept<v2.HorizontalPodAutoscalerBehavior>(draft, keyOf(vocabulary, 'behavior'), typeRef)?.[0];
}

export function keepBehavior(
  draft: ApiObject,
  vocabulary: Vocabulary,
  behavior: v2.HorizontalPodAutoscalerBehavior | undefined,
): void {
  setAnnotation(draft, keyOf(vocabulary, 'behavior'), behavior);
}

function specToV1(draft: ApiObject, vocabulary: Vocabulary): void {
  const spec = typed<V2>(draft).spec;
  if (spec === undefined) return;
  const { metrics = [], behavior, ...rest } = spec;
  const index = cpuIndex(metrics);
  const others = metrics.filter((_, position) => position !== index).map(metricToV1);
  const percentage = metrics[index]?.resource?.target.averageUtilization;
  setAnnotation(draft, keyOf(vocabulary, 'metrics'), others);
  keepBehavior(draft, vocabulary, behavior);
  draft['spec'] = {
    ...rest,
    ...(percentage !== undefined && { targetCPUUtilizationPercentage: percentage }),
  };
}

function statusToV1(draft: ApiObject, vocabulary: Vocabulary): void {
  const status = typed<V2>(draft).status;
  if (status === undefined) return;
  const { currentMetrics = [], conditions, ...rest } = status;
  const cpu = currentMetrics.find(({ resource }) => resource?.name === 'cpu')?.resource?.current;
  const percentage = cpu?.averageUtilization;
  setAnnotation(draft, keyOf(vocabulary, 'current-metrics'), currentMetrics.map(metricStatusToV1));
  setAnnotation(draft, keyOf(vocabulary, 'conditions'), conditions);
  draft['status'] = {
    ...rest,
    currentReplicas: rest.currentReplicas ?? 0,
    ...(percentage !== undefined && { currentCPUUtilizationPercentage: percentage }),
  };
}

function specToV2(draft: ApiObject, vocabulary: Vocabulary): void {
  const spec = typed<V1>(draft).spec;
  if (spec === undefined) return;
  const { targetCPUUtilizationPercentage: percentage, ...rest } = spec;
  const kept = readKept<v1.MetricSpec>(draft, keyOf(vocabulary, 'metrics'), 'autoscaling/v1.MetricSpec');
  const behavior = readBehavior(draft, vocabulary);
  const metrics = [
    ...(kept ?? []).map(metricToV2),
    ...(percentage === undefined ? [] : [cpuMetric(percentage)]),
  ];
  draft['spec'] = {
    ...rest,
    metrics: metrics.length === 0 ? [cpuMetric(80)] : metrics,
    ...(behavior !== undefined && { behavior }),
  };
}

/** Returns the metrics. The percentage, less specific than a metric, applies without a metric in an annotation. */
function metricsNow(draft: ApiObject, vocabulary: Vocabulary, percentage: number | undefined): object {
  const key = keyOf(vocabulary, 'current-metrics');
  const kept = readKept<v1.MetricStatus>(draft, key, 'autoscaling/v1.MetricStatus');
  if (kept !== undefined) return { currentMetrics: kept.map(metricStatusToV2) };
  if (percentage === undefined) return {};
  const current = { averageUtilization: percentage };
  return { currentMetrics: [{ type: 'Resource', resource: { name: 'cpu', current } }] };
}

function statusToV2(draft: ApiObject, vocabulary: Vocabulary): void {
  const status = typed<V1>(draft).status;
  if (status === undefined) return;
  const { currentCPUUtilizationPercentage: percentage, ...rest } = status;
  const typeRef = 'autoscaling/v2.HorizontalPodAutoscalerCondition';
  const conditions = readKept(draft, keyOf(vocabulary, 'conditions'), typeRef);
  draft['status'] = {
    ...rest,
    ...metricsNow(draft, vocabulary, percentage),
    ...(conditions !== undefined && { conditions }),
  };
}

/** Between version 1 and the stored version 2. */
export function createAutoscalerConversion(vocabulary: Vocabulary): Conversion {
  return {
    fromStorage(draft) {
      dropKept(draft, vocabulary);
      specToV1(draft, vocabulary);
      statusToV1(draft, vocabulary);
      draft.apiVersion = 'autoscaling/v1';
      return draft;
    },
    toStorage(draft) {
      specToV2(draft, vocabulary);
      statusToV2(draft, vocabulary);
      dropKept(draft, vocabulary);
      draft.apiVersion = 'autoscaling/v2';
      return draft;
    },
  };
}

export function horizontalPodAutoscalerV1(vocabulary: Vocabulary, stored: KindEntry): KindEntry {
  const conversion = createAutoscalerConversion(vocabulary);
  const toV2 = (object: v1.HorizontalPodAutoscaler): v2.HorizontalPodAutoscaler => {
    const draft = structuredClone(object);
    const made = { apiVersion: '', kind: '', ...draft, metadata: draft.metadata ?? {} };
    const wire: ApiObject = { ...made };
    specToV2(wire, vocabulary);
    statusToV2(wire, vocabulary);
    return typed<v2.HorizontalPodAutoscaler>(wire);
  };
  return {
    strategy: {
      ...stored.strategy,
      ...kindStrategy<v1.HorizontalPodAutoscaler>({
        countsGeneration: false,
        row: (object, context) => autoscalerRow(toV2(object), context),
      }),
    },
    ...(stored.parts && { parts: stored.parts }),
    storedAs: { group: 'autoscaling', version: 'v2', conversion },
  };
}
