/** HorizontalPodAutoscalers as they are stored: version 2. Source: autoscaling/v2. */

import type {
  HorizontalPodAutoscaler,
  HorizontalPodAutoscalerSpec,
  HorizontalPodAutoscalerStatus,
  HPAScalingRules,
} from '#api/gen/autoscaling-v2.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
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

function validateReplicas(errors: FieldErrors, spec: HorizontalPodAutoscalerSpec, toZero: boolean): void {
  const { minReplicas, maxReplicas, metrics = [] } = spec;
  const least = toZero ? 0 : 1;
  if (minReplicas !== undefined && minReplicas < least) {
    errors.invalid('spec.minReplicas', minReplicas, `must be greater than or equal to ${least}`);
  }
  if (maxReplicas < 1) errors.invalid('spec.maxReplicas', maxReplicas, 'must be greater than 0');
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.invalid('spec.maxReplicas', maxReplicas, 'must be greater than or equal to `minReplicas`');
  }
  const hasOutside = metrics.some(({ type }) => type === 'Object' || type === 'External');
  if (minReplicas === 0 && !hasOutside) {
    errors.forbidden(
      'spec.metrics',
      'must specify at least one Object or External metric to support scaling to zero replicas',
    );
  }
}

function validateRules(errors: FieldErrors, rules: HPAScalingRules | undefined, path: string): void {
  if (rules === undefined) return;
  const { stabilizationWindowSeconds: window = 0, selectPolicy, policies = [] } = rules;
  errors.nonNegative(`${path}.stabilizationWindowSeconds`, window);
  if (window > MAX_STABILIZATION_SECONDS) {
    const detail = `must be less than or equal to ${MAX_STABILIZATION_SECONDS}`;
    errors.invalid(`${path}.stabilizationWindowSeconds`, window, detail);
  }
  if (selectPolicy !== undefined && !SELECT_POLICIES.includes(selectPolicy)) {
    errors.unsupported(`${path}.selectPolicy`, selectPolicy, SELECT_POLICIES);
  }
  if (policies.length === 0) errors.required(`${path}.policies`, 'must specify at least one Policy');
  for (const [index, { type, value, periodSeconds }] of policies.entries()) {
    const at = `${path}.policies[${index}]`;
    if (!POLICY_TYPES.includes(type)) errors.unsupported(`${at}.type`, type, POLICY_TYPES);
    errors.positive(`${at}.value`, value);
    errors.positive(`${at}.periodSeconds`, periodSeconds);
    if (periodSeconds > MAX_PERIOD_SECONDS) {
      const detail = `must be less than or equal to ${MAX_PERIOD_SECONDS}`;
      errors.invalid(`${at}.periodSeconds`, periodSeconds, detail);
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
    validate(errors, { spec }, { gates }) {
      if (spec === undefined) return errors.required('spec');
      validateReplicas(errors, spec, gates.has('HPAScaleToZero'));
      validateReference(errors, spec.scaleTargetRef, 'spec.scaleTargetRef');
      for (const [index, metric] of (spec.metrics ?? []).entries()) {
        validateMetric(errors, metric, `spec.metrics[${index}]`);
      }
      validateRules(errors, spec.behavior?.scaleUp, 'spec.behavior.scaleUp');
      validateRules(errors, spec.behavior?.scaleDown, 'spec.behavior.scaleDown');
      return undefined;
    },
    row: autoscalerRow,
  }),
  parts: {
    status: statusPart<HorizontalPodAutoscaler>({
      validate: (errors, { status }) =>
        validateCounts<HorizontalPodAutoscalerStatus>(errors, status, ['currentReplicas', 'desiredReplicas']),
    }),
  },
};
