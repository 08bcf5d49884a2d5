/** Score: preferred node affinity, the sum of the weights of the matching terms. */
import { matchesNodeTerm } from '../fleet/node-terms.ts';
import { type Scorer, scaled } from './score.ts';

export const preferredNodes: Scorer = {
  name: 'NodeAffinity',
  weight: 2,
  score({ shape: { preferredNodeTerms: terms } }, nodes) {
    if (terms.length === 0) return undefined;
    return scaled(
      nodes.map((node) =>
        terms.reduce((sum, { weight, term }) => (matchesNodeTerm(term, node) ? sum + weight : sum), 0),
      ),
    );
  },
};
