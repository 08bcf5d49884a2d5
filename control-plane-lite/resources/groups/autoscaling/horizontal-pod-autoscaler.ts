/** HorizontalPodAutoscalers as they are stored: version 2. Source: autoscaling/v2. */

import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HorizontalPodAutoscalerStatus,
  HPAScalingRules,
} from '#api/gen/autoscaling-v2.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, UNSET } from '../../rows.ts';
import { validateCounts } from '../amounts.ts';
import { kindStrategy, type Mutable, type RowContext, statusPart } from '../kind.ts';
import { targetsCell } from './metric-cells.ts';
import { validateMetric, validateReference } from './metrics.ts';

const MAX_STABILIZATION_SECONDS = 3600;
const MAX_PERIOD_SECONDS = 1800;
const SELECT_POLICIES = ['Max', 'Min', 'Disabled'];
const POLICY_TYPES = ['Pods', 'Percent'];

function validateReplicas(faults: Faults, spec: HorizontalPodAutoscalerSpec, toZero: boolean): void {
  const { minReplicas, maxReplicas, metrics = [] } = spec;
  const least = toZero ? 0 : 1;
  if (minReplicas !== undefined && minReplicas < least) {
    faults.invalid('spec.minReplicas', minReplicas, `must be greater than or equal to ${least}`);
  }
  if (maxReplicas < 1) faults.invalid('spec.maxReplicas', maxReplicas, 'must be greater than 0');
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    faults.invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`');
  }
  const hasOutside = metrics.some(({ type }) => type === 'Object' || type === 'External');
  if (minReplicas === 0 && !hasOutside) {
    faults.forbidden(
      'spec.metrics',
      'must specify at least one Object or External metric to support scaling to zero replicas',
    );
  }
}

function validateRules(faults: Faults, rules: HPAScalingRules | undefined, path: string): void {
  if (rules === undefined) return;
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [] } = rules;
  faults.nonNegative(`${path}.stabilizationWindowSeconds`, window);
  if (window > MAX_STABILIZATION_SECONDS) {
    const detail = `must be less than or equal to ${MAX_STABILIZATION_SECONDS}`;
    faults.invalid(`${path}.stabilizationWindowSeconds`, window, detail);
  }
  if (selectPolicy !== undefined && !SELECT_POLICIES.includes(selectPolicy)) {
    faults.unsupported(`${path}.selectPolicy`, selectPolicy, SELECT_POLICIES);
  }
  if (policies.length === 0) faults.required(`${path}.policies`, 'must specify at least one Policy');
  for (const [index, { type, value, periodSeconds }] of policies.entries()) {
    const at = `${path}.policies[${index}]`;
    if (!POLICY_TYPES.includes(type)) faults.unsupported(`${at}.type`, type, POLICY_TYPES);
    faults.positive(`${at}.value`, value);
    faults.positive(`${at}.periodSeconds`, periodSeconds);
    if (periodSeconds > MAX_PERIOD_SECONDS) {
      const detail = `must be less than or equal to ${MAX_PERIOD_SECONDS}`;
      faults.invalid(`${at}.periodSeconds`, periodSeconds, detail);
    }
  }
}

/** Container metrics require a feature gate; existing ones are retained. */
function dropContainerMetrics(
  draft: Mutable<HorizontalPodAutoscaler>,
  old: HorizontalPodAutoscaler | undefined,
  gates: ReadonlySet<string>,
): void {
  const had = old?.spec?.metrics?.some(({ containerResource }) => containerResource !== undefined) === true;
  if (had || gates.has('HPAContainerMetrics')) return;
  for (const metric of draft.spec?.metrics ?? []) delete metric.containerResource;
}

/** The cells of a row, for every version. */
export const autoscalerRow = (object: HorizontalPodAutoscaler, { nowMs }: RowContext): readonly string[] => {
  const { spec, status, metadata } = object;
  const { kind = '', name = '' } = spec?.scaleTargetRef ?? {};
  return [
    metadata?.name ?? '',
    `${kind}/${name}`,
    targetsCell(object),
    spec?.minReplicas === undefined ? UNSET : String(spec.minReplicas),
    String(spec?.maxReplicas ?? 0),
    String(status?.currentReplicas ?? 0),
    ageOf(object, nowMs),
  ];
};

export const horizontalPodAutoscaler: KindEntry = {
  strategy: kindStrategy<HorizontalPodAutoscaler>({
    countsGeneration: false,
    prepareForCreate(draft, { gates }) {
      draft.status = { desiredReplicas: 0 };
      dropContainerMetrics(draft, undefined, gates);
    },
    prepareForUpdate: (draft, old, { gates }) => dropContainerMetrics(draft, old, gates),
    validate(faults, { spec }, { gates }) {
      if (spec === undefined) return faults.required('spec');
      validateReplicas(faults, spec, gates.has('HPAScaleToZero'));
      validateReference(faults, spec.scaleTargetRef, 'spec.scaleTargetRef');
      for (const [index, metric] of (spec.metrics ?? []).entries()) {
        validateMetric(faults, metric, `spec.metrics[${index}]`);
      }
      validateRules(faults, spec.behavior?.scaleUp, 'spec.behavior.scaleUp');
      validateRules(faults, spec.behavior?.scaleDown, 'spec.behavior.scaleDown');
      return undefined;
    },
    row: autoscalerRow,
  }),
  parts: {
    status: statusPart<HorizontalPodAutoscaler>({
      validate: (faults, { status }) =>
        validateCounts<HorizontalPodAutoscalerStatus>(faults, status, ['currentReplicas', 'desiredReplicas']),
    }),
  },
};
