/** One calculation of an autoscaler: reads the size of its target and its metrics, decides, sets the size. Returns the
 *  new status; writes no status itself. Source: upstream's autoscaler, release 1.24; reasons and messages are
 *  upstream's. */
import type { HorizontalPodAutoscalerSpec, HorizontalPodAutoscalerStatus } from '#api/gen/autoscaling-v2.ts';
import { parseLabelSelector, SelectorError } from '#api/meta/selectors.ts';
import { formatTime } from '#api/meta/time.ts';
import type { AutoscalerLimits } from '../skeleton/settings.ts';
import { type Behavior, behaviorOf, longestPeriodMs } from './behavior.ts';
import { applyVerdicts, type Verdict, verdict } from './conditions.ts';
import type { ScaledPod } from './facts.ts';
import { type History, resized, startHistory } from './history.ts';
import { normalize } from './normalize.ts';
import { recommendSize } from './recommend.ts';
import type { MetricSources, TargetPods } from './sources.ts';
import type { Target } from './target.ts';

export interface AutoscalerEvent {
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
}

export interface AutoscalerDeps {
  readonly limits: AutoscalerLimits;
  readonly sources: MetricSources;
  readonly findTarget: (
    namespace: string,
    ref: HorizontalPodAutoscalerSpec['scaleTargetRef'],
  ) => Promise<Target>;
  readonly podsOf: (pods: TargetPods) => Promise<readonly ScaledPod[]>;
  readonly record: (event: AutoscalerEvent) => void;
  /** In Unix ms. */
  readonly now: () => number;
}

export interface AutoscalerInput {
  readonly namespace: string;
  readonly spec: HorizontalPodAutoscalerSpec;
  readonly status: HorizontalPodAutoscalerStatus | undefined;
  readonly history: History | undefined;
}

export interface AutoscalerResult {
  readonly status: HorizontalPodAutoscalerStatus;
  readonly history: History | undefined;
  /** Why the calculation failed. */
  readonly error?: string;
}

const messageOf = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** A decided size. */
interface Decision {
  readonly replicas: number;
  readonly rescale: boolean;
  /** For the event of a rescale. */
  readonly reason: string;
  readonly verdicts: readonly Verdict[];
  readonly history: History;
  readonly metrics?: HorizontalPodAutoscalerStatus['currentMetrics'];
}

interface Failure {
  readonly error: string;
  readonly verdicts: readonly Verdict[];
}

interface Round {
  readonly deps: AutoscalerDeps;
  readonly input: AutoscalerInput;
  readonly target: Target;
  readonly history: History;
  readonly behavior: Behavior | undefined;
  readonly nowMs: number;
}

/** `undefined`: the metrics decide. */
function decideWithoutMetrics({ input, target, history }: Round): Decision | undefined {
  const { minReplicas = 1, maxReplicas } = input.spec;
  const { specReplicas: current } = target;
  const plain = { verdicts: [], history, rescale: true };
  if (current === 0 && minReplicas !== 0) {
    const message = 'scaling is disabled since the replica count of the target is zero';
    const verdicts = [verdict('ScalingActive', 'False', 'ScalingDisabled', message)];
    return { replicas: 0, rescale: false, reason: '', verdicts, history };
  }
  if (current > maxReplicas)
    return { ...plain, replicas: maxReplicas, reason: 'Current number of replicas above Spec.MaxReplicas' };
  if (current < minReplicas)
    return { ...plain, replicas: minReplicas, reason: 'Current number of replicas below Spec.MinReplicas' };
  return undefined;
}

type SelectorResult =
  | { readonly pods: TargetPods }
  | { readonly failure: Failure; readonly event: AutoscalerEvent };

function selectPods(namespace: string, selector: string): SelectorResult {
  const invalid = (reason: string, error: string, message: string): SelectorResult => ({
    event: { type: 'Warning', reason, message: error },
    failure: { error, verdicts: [verdict('ScalingActive', 'False', 'InvalidSelector', message)] },
  });
  if (selector === '') {
    const message = "the HPA target's scale is missing a selector";
    return invalid('SelectorRequired', 'selector is required', message);
  }
  try {
    return { pods: { namespace, selector, requirements: parseLabelSelector(selector) } };
  } catch (thrown) {
    if (!(thrown instanceof SelectorError)) throw thrown;
    const error = `couldn't convert selector into a corresponding internal selector object: ${thrown.message}`;
    return invalid('InvalidSelector', error, error);
  }
}

async function decideByMetrics(round: Round): Promise<Decision | Failure> {
  const { deps, input, target, history, behavior, nowMs } = round;
  const { minReplicas = 1, maxReplicas, metrics = [] } = input.spec;
  const { specReplicas: current, statusReplicas } = target;
  const selected = selectPods(input.namespace, target.selector);
  if ('failure' in selected) {
    deps.record(selected.event);
    return selected.failure;
  }
  const pods = await deps.podsOf(selected.pods);
  const recommended = await recommendSize(
    {
      sources: deps.sources,
      target: selected.pods,
      pods,
      specReplicas: current,
      statusReplicas,
      limits: deps.limits,
      nowMs,
    },
    metrics,
  );
  for (const { reason, detail } of recommended.failures)
    deps.record({ type: 'Warning', reason, message: detail });
  if (recommended.kind === 'failed') return { error: recommended.message, verdicts: [recommended.verdict] };
  const normalized = normalize({
    current,
    recommended: recommended.replicas,
    range: { min: minReplicas, max: maxReplicas },
    behavior,
    downscaleWindowMs: deps.limits.downscaleWindowMs,
    history,
    nowMs,
  });
  const { replicas } = recommended;
  return {
    replicas: normalized.replicas,
    rescale: normalized.replicas !== current,
    reason: replicas > current ? `${recommended.metric} above target` : 'All metrics below target',
    verdicts: [recommended.verdict, ...normalized.verdicts],
    history: normalized.history,
    metrics: recommended.statuses,
  };
}

interface Outcome {
  readonly verdict?: Verdict;
  readonly history: History;
  readonly error?: string;
}

/** Sets the size of the target. */
async function rescale({ deps, target, behavior, nowMs }: Round, decision: Decision): Promise<Outcome> {
  const { replicas, reason, history } = decision;
  try {
    await target.setReplicas(replicas);
  } catch (thrown) {
    const error = messageOf(thrown);
    const message = `New size: ${replicas}; reason: ${reason}; error: ${error}`;
    deps.record({ type: 'Warning', reason: 'FailedRescale', message });
    const text = `the HPA controller was unable to update the target scale: ${error}`;
    return {
      error: `failed to rescale: ${error}`,
      history,
      verdict: verdict('AbleToScale', 'False', 'FailedUpdateScale', text),
    };
  }
  deps.record({
    type: 'Normal',
    reason: 'SuccessfulRescale',
    message: `New size: ${replicas}; reason: ${reason}`,
  });
  const change = { from: target.specReplicas, to: replicas, atMs: nowMs };
  return {
    verdict: verdict(
      'AbleToScale',
      'True',
      'SucceededRescale',
      `the HPA controller was able to update the target scale to ${replicas}`,
    ),
    history: behavior === undefined ? history : resized(history, change, longestPeriodMs(behavior)),
  };
}

const FAILED_SCALE = "the HPA controller was unable to get the target's current scale";
const GOT_SCALE = verdict(
  'AbleToScale',
  'True',
  'SucceededGetScale',
  "the HPA controller was able to get the target's current scale",
);

async function runRound(round: Round): Promise<AutoscalerResult> {
  const { deps, input, target, nowMs } = round;
  const { specReplicas: current } = target;
  const now = formatTime(nowMs);
  const before = input.status ?? { desiredReplicas: 0 };
  const dated = (verdicts: readonly Verdict[]): HorizontalPodAutoscalerStatus['conditions'] =>
    applyVerdicts(before.conditions ?? [], [GOT_SCALE, ...verdicts], now);
  const decision = decideWithoutMetrics(round) ?? (await decideByMetrics(round));
  const unchanged = (verdicts: readonly Verdict[]): HorizontalPodAutoscalerStatus => ({
    ...before,
    currentReplicas: current,
    conditions: dated(verdicts) ?? [],
  });
  if ('error' in decision) {
    deps.record({ type: 'Warning', reason: 'FailedComputeMetricsReplicas', message: decision.error });
    return { status: unchanged(decision.verdicts), history: round.history, error: decision.error };
  }
  const outcome: Outcome = decision.rescale ? await rescale(round, decision) : { history: decision.history };
  const { history, error } = outcome;
  const verdicts = [...decision.verdicts, ...(outcome.verdict === undefined ? [] : [outcome.verdict])];
  if (error !== undefined) return { status: unchanged(verdicts), history, error };
  const lastScaleTime = decision.rescale ? now : before.lastScaleTime;
  const status = {
    currentReplicas: current,
    desiredReplicas: decision.rescale ? decision.replicas : current,
    ...(lastScaleTime === undefined ? {} : { lastScaleTime }),
    ...(decision.metrics === undefined ? {} : { currentMetrics: decision.metrics }),
    conditions: dated(verdicts) ?? [],
  };
  return { status, history };
}

/** Runs one calculation. Never rejects because of metrics or the target. */
export async function runAutoscaler(deps: AutoscalerDeps, input: AutoscalerInput): Promise<AutoscalerResult> {
  const { namespace, spec, status, history } = input;
  let target: Target;
  try {
    target = await deps.findTarget(namespace, spec.scaleTargetRef);
  } catch (thrown) {
    const error = messageOf(thrown);
    deps.record({ type: 'Warning', reason: 'FailedGetScale', message: error });
    const failed = verdict('AbleToScale', 'False', 'FailedGetScale', `${FAILED_SCALE}: ${error}`);
    const before = status ?? { desiredReplicas: 0 };
    const conditions = applyVerdicts(before.conditions ?? [], [failed], formatTime(deps.now()));
    return { status: { ...before, conditions }, history, error };
  }
  const nowMs = deps.now();
  return runRound({
    deps,
    input,
    target,
    history: history ?? startHistory(target.specReplicas, nowMs),
    behavior:
      spec.behavior === undefined ? undefined : behaviorOf(spec.behavior, deps.limits.downscaleWindowMs),
    nowMs,
  });
}
