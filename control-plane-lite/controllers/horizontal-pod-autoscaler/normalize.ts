/** Brings a recommended size within the limits of an autoscaler: stabilization windows, rates, and its own minimum and
 *  maximum. Pure. Source: upstream's autoscaler, release 1.24. */
import { type Behavior, lowerLimit, upperLimit } from './behavior.ts';
import { type Verdict, verdict } from './conditions.ts';
import { type History, recommend } from './history.ts';

export interface Range {
  readonly min: number;
  readonly max: number;
}

export interface NormalizeInput {
  readonly current: number;
  readonly recommended: number;
  readonly range: Range;
  /** Absent: the autoscaler has none. */
  readonly behavior: Behavior | undefined;
  /** Window for scaling down without a behavior, in ms. */
  readonly downscaleWindowMs: number;
  readonly history: History;
  readonly nowMs: number;
}

export interface Normalized {
  readonly replicas: number;
  readonly verdicts: readonly Verdict[];
  readonly history: History;
}

const HIGHER =
  'recent recommendations were higher than current one, applying the highest recent recommendation';
const LOWER = 'recent recommendations were lower than current one, applying the lowest recent recommendation';

/** Without a behavior, a target at most doubles, or grows to this size. */
const FREE_SIZE = 4;

const LIMITS: Readonly<Record<string, string>> = {
  ScaleUpLimit: 'the desired replica count is increasing faster than the maximum scale rate',
  ScaleDownLimit: 'the desired replica count is decreasing faster than the maximum scale rate',
  TooManyReplicas: 'the desired replica count is more than the maximum replica count',
  TooFewReplicas: 'the desired replica count is less than the minimum replica count',
  DesiredWithinRange: 'the desired count is within the acceptable range',
};

type LimitReason =
  | 'ScaleUpLimit'
  | 'ScaleDownLimit'
  | 'TooManyReplicas'
  | 'TooFewReplicas'
  | 'DesiredWithinRange';

interface Limited {
  readonly replicas: number;
  readonly reason: LimitReason;
}

interface Stabilized {
  readonly replicas: number;
  readonly history: History;
}

function stabilize({
  current,
  recommended,
  behavior,
  downscaleWindowMs,
  history,
  nowMs,
}: NormalizeInput): Stabilized {
  const newest = { replicas: recommended, atMs: nowMs };
  if (behavior === undefined) {
    const recent = history.recommendations.filter(({ atMs }) => atMs >= nowMs - downscaleWindowMs);
    const replicas = Math.max(recommended, ...recent.map((each) => each.replicas));
    return { replicas, history: recommend(history, newest, downscaleWindowMs) };
  }
  const within = (windowMs: number): readonly number[] => [
    recommended,
    ...history.recommendations.filter(({ atMs }) => atMs > nowMs - windowMs).map((each) => each.replicas),
  ];
  const { up, down } = behavior;
  const lowest = Math.min(...within(up.windowMs));
  const highest = Math.max(...within(down.windowMs));
  const replicas = Math.min(Math.max(current, lowest), highest);
  return { replicas, history: recommend(history, newest, Math.max(up.windowMs, down.windowMs)) };
}

function limitPlainly(current: number, desired: number, { min, max }: Range): Limited {
  const fastest = Math.max(2 * current, FREE_SIZE);
  const [upper, reason]: [number, LimitReason] =
    max > fastest ? [fastest, 'ScaleUpLimit'] : [max, 'TooManyReplicas'];
  if (desired < min) return { replicas: min, reason: 'TooFewReplicas' };
  if (desired > upper) return { replicas: upper, reason };
  return { replicas: desired, reason: 'DesiredWithinRange' };
}

function limitByPolicies(
  { current, range, history, nowMs }: NormalizeInput,
  desired: number,
  { up, down }: Behavior,
): Limited {
  if (desired > current) {
    const fastest = upperLimit(current, history, up, nowMs);
    const [upper, reason]: [number, LimitReason] =
      range.max > fastest ? [fastest, 'ScaleUpLimit'] : [range.max, 'TooManyReplicas'];
    if (desired > upper) return { replicas: upper, reason };
  } else if (desired < current) {
    const fastest = lowerLimit(current, history, down, nowMs);
    const [lower, reason]: [number, LimitReason] =
      range.min < fastest ? [fastest, 'ScaleDownLimit'] : [range.min, 'TooFewReplicas'];
    if (desired < lower) return { replicas: lower, reason };
  }
  return { replicas: desired, reason: 'DesiredWithinRange' };
}

function stabilityOf({ current, recommended, behavior }: NormalizeInput, stabilized: number): Verdict {
  if (stabilized === recommended)
    return verdict('AbleToScale', 'True', 'ReadyForNewScale', 'recommended size matches current size');
  return behavior !== undefined && recommended >= current
    ? verdict('AbleToScale', 'True', 'ScaleUpStabilized', LOWER)
    : verdict('AbleToScale', 'True', 'ScaleDownStabilized', HIGHER);
}

export function normalize(input: NormalizeInput): Normalized {
  const { current, range, behavior } = input;
  const { replicas: stabilized, history } = stabilize(input);
  const { replicas, reason } =
    behavior === undefined
      ? limitPlainly(current, stabilized, range)
      : limitByPolicies(input, stabilized, behavior);
  const isLimited = replicas === stabilized ? 'False' : 'True';
  return {
    replicas,
    history,
    verdicts: [
      stabilityOf(input, stabilized),
      verdict('ScalingLimited', isLimited, reason, LIMITS[reason] ?? ''),
    ],
  };
}
