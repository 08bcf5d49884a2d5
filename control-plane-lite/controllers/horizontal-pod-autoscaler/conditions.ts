/** Conditions of an autoscaler, with upstream's reasons. Pure. */
import type { HorizontalPodAutoscalerCondition } from '#api/gen/autoscaling-v2.ts';

export type ConditionType = 'AbleToScale' | 'ScalingActive' | 'ScalingLimited';

/** A condition before it is dated. */
export interface Verdict {
  readonly type: ConditionType;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
}

export const verdict = (
  type: ConditionType,
  status: Verdict['status'],
  reason: string,
  message: string,
): Verdict => ({ type, status, reason, message });

/** Replaces the condition of the same type in its place. Its time changes with its status only. */
function applyVerdict(
  conditions: readonly HorizontalPodAutoscalerCondition[],
  { type, ...rest }: Verdict,
  now: string,
): readonly HorizontalPodAutoscalerCondition[] {
  const known = conditions.find((condition) => condition.type === type);
  const lastTransitionTime = known?.status === rest.status ? (known.lastTransitionTime ?? now) : now;
  const condition = { type, ...rest, lastTransitionTime };
  if (known === undefined) return [...conditions, condition];
  return conditions.map((each) => (each === known ? condition : each));
}

export const applyVerdicts = (
  conditions: readonly HorizontalPodAutoscalerCondition[],
  verdicts: readonly Verdict[],
  now: string,
): readonly HorizontalPodAutoscalerCondition[] =>
  verdicts.reduce((done, each) => applyVerdict(done, each, now), conditions);
