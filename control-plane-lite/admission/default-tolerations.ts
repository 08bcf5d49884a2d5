/** Adds default tolerations for not-ready and unreachable nodes to pods. Source: DefaultTolerationSeconds,
 *  document 2 §2.7; upstream's plugin, release 1.24. */
import type { Pod, Toleration } from '#api/gen/core-v1.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { type PodSpec, setInSpec } from './spec-draft.ts';

export interface DefaultTolerationsOptions {
  readonly notReadySeconds: number;
  readonly unreachableSeconds: number;
}

const EVICTS = 'NoExecute';

/** Reports whether the pod has its own toleration of the taint. */
const isTolerated = (tolerations: readonly Toleration[], wanted: string): boolean =>
  tolerations.some(
    ({ key = '', effect }) => (key === wanted || key === '') && (effect === undefined || effect === EVICTS),
  );

export function createDefaultTolerations(
  { vocabulary }: Pick<AdmissionDeps, 'vocabulary'>,
  { notReadySeconds, unreachableSeconds }: DefaultTolerationsOptions,
): AdmissionPlugin {
  const toleration = (name: string, tolerationSeconds: number): Toleration & { readonly key: string } => ({
    // Joined, not a template: V8 builds a rope, for which `JSON.stringify` leaves its fast path for the whole pod.
    key: ['node.', vocabulary.domain, '/', name].join(''),
    operator: 'Exists',
    effect: EVICTS,
    tolerationSeconds,
  });
  const wanted = [toleration('not-ready', notReadySeconds), toleration('unreachable', unreachableSeconds)];
  return {
    name: 'DefaultTolerationSeconds',
    operations: ['CREATE', 'UPDATE'],
    resources: new Set(['/pods']),
    mutate({ object, subresource }) {
      if (object === undefined || subresource !== '') return;
      const given = typed<Pod>(object).spec?.tolerations ?? [];
      const missing = wanted.filter(({ key }) => !isTolerated(given, key));
      if (missing.length === 0) return;
      const tolerations = [...given, ...missing.map((each) => ({ ...each }))];
      setInSpec<PodSpec>(object, { tolerations });
    },
  };
}
