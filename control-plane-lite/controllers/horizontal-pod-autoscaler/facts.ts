/** Facts that autoscaling reads: pods of a target, and values of metrics. Pure. */
import type { Pod } from '#api/gen/core-v1.ts';
import { exactMilliValue, formatQuantity } from '#api/meta/quantity.ts';
import { parseTime } from '#api/meta/time.ts';
import type { ApiObject } from '../../resources/contract.ts';
import { typed } from '../../resources/view.ts';

export interface ScaledPod {
  readonly name: string;
  readonly deleting: boolean;
  readonly phase: string;
  /** In Unix ms. */
  readonly startMs?: number;
  /** The Ready condition. */
  readonly ready?: { readonly status: string; readonly sinceMs: number };
  readonly containers: readonly ScaledContainer[];
}

export interface ScaledContainer {
  readonly name: string;
  readonly requests: Readonly<Record<string, string>>;
}

/** Value of a pod's metric. */
export interface PodMetric {
  /** In thousandths. */
  readonly value: bigint;
  /** End of the window in which it was measured, in Unix ms. */
  readonly atMs: number;
  readonly windowMs: number;
}

/** By name of the pod. */
export type PodMetrics = ReadonlyMap<string, PodMetric>;

/** Returns a quantity in thousandths, rounded up. @throws QuantityError */
export const milliOf = (quantity: string | number): bigint => BigInt(exactMilliValue(quantity));

export const formatMilli = (value: bigint): string =>
  formatQuantity({ nanos: value * 1_000_000n, format: 'decimalSI' });

export function scaledPod(object: ApiObject): ScaledPod {
  const { metadata, spec, status = {} } = typed<Pod>(object);
  const ready = status.conditions?.find(({ type }) => type === 'Ready');
  const { lastTransitionTime: since } = ready ?? {};
  return {
    name: metadata?.name ?? '',
    deleting: metadata?.deletionTimestamp !== undefined,
    phase: status.phase ?? 'Pending',
    ...(status.startTime === undefined ? {} : { startMs: parseTime(status.startTime) }),
    ...(ready === undefined
      ? {}
      : { ready: { status: ready.status, sinceMs: since === undefined ? 0 : parseTime(since) } }),
    containers: (spec?.containers ?? []).map(({ name, resources }) => ({
      name,
      requests: resources?.requests ?? {},
    })),
  };
}
