/** Taints new nodes as not ready, so that they get no pods before they report ready. Source:
 *  TaintNodesByCondition, document 2 §2.7; upstream's plugin, release 1.24. */
import type { Node } from '#api/gen/core-v1.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { setInSpec } from './spec-draft.ts';

export function createTaintNodes({ vocabulary }: Pick<AdmissionDeps, 'vocabulary'>): AdmissionPlugin {
  const taint = { key: `node.${vocabulary.domain}/not-ready`, effect: 'NoSchedule' } as const;
  return {
    name: 'TaintNodesByCondition',
    operations: ['CREATE'],
    resources: new Set(['/nodes']),
    mutate({ object, subresource }) {
      if (object === undefined || subresource !== '') return;
      const taints = typed<Node>(object).spec?.taints ?? [];
      if (taints.some(({ key, effect }) => key === taint.key && effect === taint.effect)) return;
      setInSpec<NonNullable<Node['spec']>>(object, { taints: [...taints, { ...taint }] });
    },
  };
}
