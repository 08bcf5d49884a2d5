/** The behavior of an autoscaler, complete, and the limits of its policies. Pure.
 *  Source: autoscaling/v2 HorizontalPodAutoscalerBehavior; upstream's autoscaler, release 1.24. */
import type {
  HorizontalPodAutoscalerBehavior,
  HPAScalingPolicy,
  HPAScalingRules,
} from '#api/gen/autoscaling-v2.ts';
import type { History, SizeChange } from './history.ts';

export interface Rules {
  readonly windowMs: number;
  readonly select: string;
  readonly policies: readonly HPAScalingPolicy[];
}

export interface Behavior {
  readonly up: Rules;
  readonly down: Rules;
}

const UP_POLICIES: readonly HPAScalingPolicy[] = [
  { type: 'Pods', value: 4, periodSeconds: 15 },
  { type: 'Percent', value: 100, periodSeconds: 15 },
];
const DOWN_POLICIES: readonly HPAScalingPolicy[] = [{ type: 'Percent', value: 100, periodSeconds: 15 }];

const rulesOf = (
  { stabilizationWindowSeconds, selectPolicy = 'Max', policies }: HPAScalingRules,
  windowMs: number,
  defaults: readonly HPAScalingPolicy[],
): Rules => ({
  windowMs: stabilizationWindowSeconds === undefined ? windowMs : stabilizationWindowSeconds * 1000,
  select: selectPolicy,
  policies: policies ?? defaults,
});

/** @param downscaleWindowMs applies where the behavior has no window for scaling down */
export const behaviorOf = (
  { scaleUp = {}, scaleDown = {} }: HorizontalPodAutoscalerBehavior,
  downscaleWindowMs: number,
): Behavior => ({
  up: rulesOf(scaleUp, 0, UP_POLICIES),
  down: rulesOf(scaleDown, downscaleWindowMs, DOWN_POLICIES),
});

/** Period of the longest policy, in ms. */
export const longestPeriodMs = ({ up, down }: Behavior): number =>
  Math.max(0, ...[...up.policies, ...down.policies].map(({ periodSeconds }) => periodSeconds * 1000));

const changedSince = (changes: readonly SizeChange[], sinceMs: number): number =>
  changes.reduce((total, { count, atMs }) => (atMs > sinceMs ? total + count : total), 0);

/** Size at the start of the policy's period. */
function sizeBefore(current: number, { ups, downs }: History, sinceMs: number): number {
  return current - changedSince(ups, sinceMs) + changedSince(downs, sinceMs);
}

/** Returns the size that each policy allows now. @param apply its change to the size at the start of its period */
const sizesOf = (
  current: number,
  history: History,
  { policies }: Rules,
  nowMs: number,
  apply: (before: number, policy: Rules['policies'][number]) => number,
): readonly number[] =>
  policies.map((policy) => apply(sizeBefore(current, history, nowMs - policy.periodSeconds * 1000), policy));

/** Largest size that the rules allow now. */
export function upperLimit(current: number, history: History, rules: Rules, nowMs: number): number {
  if (rules.select === 'Disabled') return current;
  // Rounded up: a small target could never grow otherwise.
  const sizes = sizesOf(current, history, rules, nowMs, (before, { type, value }) =>
    type === 'Pods' ? before + value : Math.ceil(before * (1 + value / 100)),
  );
  return Math.max(current, rules.select === 'Min' ? Math.min(...sizes) : Math.max(...sizes));
}

/** Smallest size that the rules allow now. */
export function lowerLimit(current: number, history: History, rules: Rules, nowMs: number): number {
  if (rules.select === 'Disabled') return current;
  const sizes = sizesOf(current, history, rules, nowMs, (before, { type, value }) =>
    type === 'Pods' ? before - value : Math.trunc(before * (1 - value / 100)),
  );
  return Math.min(current, rules.select === 'Min' ? Math.max(...sizes) : Math.min(...sizes));
}
