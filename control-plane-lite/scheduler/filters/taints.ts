/** Filter: tainted nodes run only pods that tolerate the taints. */
import type { Taint } from '#api/gen/core-v1.ts';
import { tolerates } from '../fleet/tolerations.ts';
import { check, type Filter, lasting } from './filter.ts';

const keepsAway = ({ effect }: Taint): boolean => effect === 'NoSchedule' || effect === 'NoExecute';

export const taints: Filter = {
  name: 'TaintToleration',
  wokenBy: ['nodeAdded', 'nodeTaints'],
  looksAround: false,
  prepare: ({ shape: { tolerations } }) =>
    check((node) => {
      if (node.taints.length === 0) return undefined;
      const taint = node.taints.find((each) => keepsAway(each) && !tolerates(tolerations, each));
      if (taint === undefined) return undefined;
      return lasting(`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`);
    }),
};
