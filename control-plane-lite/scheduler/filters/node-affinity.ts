/** Filter: node selector and required node affinity of the pod. */
import { takesAnyNode, wantsNode } from '../fleet/node-terms.ts';
import { check, type Filter, lasting } from './filter.ts';

const REFUSAL = lasting("node(s) didn't match Pod's node affinity/selector");

export const nodeAffinity: Filter = {
  name: 'NodeAffinity',
  wokenBy: ['nodeAdded', 'nodeLabels'],
  looksAround: false,
  prepare: ({ shape }) =>
    takesAnyNode(shape) ? undefined : check((node) => (wantsNode(shape, node) ? undefined : REFUSAL)),
};
