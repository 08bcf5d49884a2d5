/** Score: prefers nodes with few PreferNoSchedule taints that the pod does not tolerate. */
import { tolerates } from '../fleet/tolerations.ts';
import { type Scorer, scaled } from './score.ts';

export const preferredTaints: Scorer = {
  name: 'TaintToleration',
  weight: 3,
  score({ shape }, nodes) {
    const tolerations = shape.tolerations.filter(
      ({ effect = '' }) => effect === '' || effect === 'PreferNoSchedule',
    );
    let any = false;
    const counts = nodes.map(({ taints }) => {
      if (taints.length === 0) return 0;
      const bad = taints.filter(
        (taint) => taint.effect === 'PreferNoSchedule' && !tolerates(tolerations, taint),
      );
      any ||= bad.length > 0;
      return bad.length;
    });
    return any ? scaled(counts, true) : undefined;
  },
};
