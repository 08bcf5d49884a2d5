/** Stateless authorization modes, and the union of several modes. Source: authorization, document 2 §5. */
import { MASTERS_GROUP } from '../authn/users.ts';
import type { AuthorizationAttributes, Authorizer, Decision, UserRules } from './contract.ts';

const EVERYTHING: UserRules = {
  resource: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
  nonResource: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  missing: [],
};
const NOTHING: UserRules = { resource: [], nonResource: [], missing: [] };

export const alwaysAllow: Authorizer = {
  name: 'AlwaysAllow',
  authorize: () => ({ effect: 'allow', reason: '' }),
  rulesOf: () => EVERYTHING,
};

export const alwaysDeny: Authorizer = {
  name: 'AlwaysDeny',
  authorize: () => ({ effect: 'none', reason: 'Everything is forbidden.' }),
  rulesOf: () => NOTHING,
};

/** Members of `system:masters` may do anything, whatever the modes: the way in when rules are lost. */
export const masters: Authorizer = {
  name: 'masters',
  authorize: ({ user }) => ({ effect: user.groups.includes(MASTERS_GROUP) ? 'allow' : 'none', reason: '' }),
  rulesOf: (user) => (user.groups.includes(MASTERS_GROUP) ? EVERYTHING : NOTHING),
};

/** Runs the modes in order. The first one that allows or denies decides; otherwise the request is denied with all reasons. */
export function createAuthorizerChain(modes: readonly Authorizer[]): Authorizer {
  return {
    name: 'chain',
    async authorize(attributes: AuthorizationAttributes): Promise<Decision> {
      const reasons: string[] = [];
      const errors: string[] = [];
      for (const mode of modes) {
        const outcome = mode.authorize(attributes);
        const decision = outcome instanceof Promise ? await outcome : outcome;
        if (decision.effect !== 'none') return decision;
        if (decision.reason !== '') reasons.push(decision.reason);
        if (decision.error !== undefined) errors.push(decision.error);
      }
      const reason = reasons.join('\n');
      return errors.length === 0
        ? { effect: 'none', reason }
        : { effect: 'none', reason, error: errors.join('\n') };
    },
    rulesOf(user, namespace) {
      const all = modes.map((mode) => mode.rulesOf(user, namespace));
      return {
        resource: all.flatMap(({ resource }) => resource),
        nonResource: all.flatMap(({ nonResource }) => nonResource),
        missing: all.flatMap(({ missing }) => missing),
      };
    },
  };
}
