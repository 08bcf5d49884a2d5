/** Filter: cordoned nodes run only pods that tolerate it. */
import { tolerates } from '../fleet/tolerations.ts';
import { check, type Filter, lasting } from './filter.ts';

const REFUSAL = lasting('node(s) were unschedulable');

export const nodeUnschedulable: Filter = {
  name: 'NodeUnschedulable',
  wokenBy: ['nodeAdded', 'nodeTaints'],
  looksAround: false,
  prepare({ shape }, { labelKeys }) {
    const taint = { key: labelKeys.unschedulableTaint, effect: 'NoSchedule' } as const;
    if (tolerates(shape.tolerations, taint)) return undefined;
    return check(({ unschedulable }) => (unschedulable ? REFUSAL : undefined));
  },
};
