/** Filter: pods that name a node run only there. */
import { check, type Filter, lasting } from './filter.ts';

const REFUSAL = lasting("node(s) didn't match the requested node name");

export const nodeName: Filter = {
  name: 'NodeName',
  wokenBy: ['nodeAdded'],
  looksAround: false,
  prepare: ({ nodeName: wanted }) =>
    wanted === '' ? undefined : check(({ name }) => (name === wanted ? undefined : REFUSAL)),
};
