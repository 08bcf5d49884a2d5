/** Preferred node affinity: the weights of the terms that a node meets. */
import { matchesNodeTerm } from '../node-terms.ts';
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
