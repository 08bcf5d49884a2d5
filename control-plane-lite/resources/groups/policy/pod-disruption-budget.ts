/** PodDisruptionBudgets, stored in version 1. Source: policy/v1, policy/v1beta1. */

import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { PodDisruptionBudget, PodDisruptionBudgetStatus } from '#api/gen/policy-v1.ts';
import { validateLabelSelector } from '#api/schema/validation/label-selector.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject, Conversion, KindEntry } from '../../contract.ts';
import { ageOf } from '../../rows.ts';
import { typed } from '../../view.ts';
import { validateAmount, validateAtMostAll, validateCounts } from '../amounts.ts';
import { validateConditions } from '../conditions.ts';
import { kindStrategy, type Mutable, statusPart } from '../kind.ts';
import { isEmptySelector } from '../selector.ts';

const NOT_SET = 'N/A';
const COUNTS = ['disruptionsAllowed', 'currentHealthy', 'desiredHealthy', 'expectedPods'] as const;

export const podDisruptionBudget: KindEntry = {
  strategy: kindStrategy<PodDisruptionBudget>({
    unconditionalUpdate: false,
    prepareForCreate(draft) {
      draft.status = { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 };
    },
    validate(errors, { spec = {} }) {
      const { minAvailable, maxUnavailable, selector } = spec;
      if (minAvailable !== undefined && maxUnavailable !== undefined) {
        errors.invalid('spec', spec, 'minAvailable and maxUnavailable cannot be both set');
      }
      validateAmount(errors, minAvailable, 'spec.minAvailable');
      validateAtMostAll(errors, minAvailable, 'spec.minAvailable');
      validateAmount(errors, maxUnavailable, 'spec.maxUnavailable');
      validateAtMostAll(errors, maxUnavailable, 'spec.maxUnavailable');
      if (selector !== undefined) validateLabelSelector(errors, selector, 'spec.selector');
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      String(object.spec?.minAvailable ?? NOT_SET),
      String(object.spec?.maxUnavailable ?? NOT_SET),
      object.status?.disruptionsAllowed ?? 0,
      ageOf(object, nowMs),
    ],
  }),
  parts: {
    status: statusPart<PodDisruptionBudget>({
      validate(errors, { status }) {
        validateConditions(errors, status?.conditions, 'status.conditions');
        validateCounts<PodDisruptionBudgetStatus>(errors, status, COUNTS);
      },
    }),
  },
};

/** Returns a selector with one expression on a key that no pod has. */
const lone = (key: string, operator: string): Mutable<LabelSelector> => ({
  matchExpressions: [{ key, operator }],
});

const isLone = (
  { matchLabels = {}, matchExpressions = [] }: LabelSelector,
  key: string,
  operator: string,
): boolean =>
  Object.keys(matchLabels).length === 0 &&
  matchExpressions.length === 1 &&
  matchExpressions[0]?.key === key &&
  matchExpressions[0].operator === operator;

/** An empty selector selects no pod in version 1beta1 and every pod in version 1. */
export function createBudgetConversion({ domain }: Vocabulary): Conversion {
  const key = `pdb.${domain}/deprecated-v1beta1-empty-selector-match`;
  function convert(draft: ApiObject, version: string, alone: string, instead: string): ApiObject {
    draft.apiVersion = `policy/${version}`;
    const { spec } = typed<Mutable<PodDisruptionBudget>>(draft);
    const selector = spec?.selector;
    if (spec === undefined || selector === undefined) return draft;
    if (isEmptySelector(selector)) spec.selector = lone(key, alone);
    else if (isLone(selector, key, instead)) spec.selector = {};
    return draft;
  }
  return {
    toStorage: (draft) => convert(draft, 'v1', 'Exists', 'DoesNotExist'),
    fromStorage: (draft) => convert(draft, 'v1beta1', 'DoesNotExist', 'Exists'),
  };
}

export const podDisruptionBudgetV1beta1 = (vocabulary: Vocabulary): KindEntry => ({
  ...podDisruptionBudget,
  storedAs: { group: 'policy', version: 'v1', conversion: createBudgetConversion(vocabulary) },
});
