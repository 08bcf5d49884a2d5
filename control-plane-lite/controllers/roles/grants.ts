/** Short notation for the rules of controller roles, in the neutral vocabulary. Pure. */
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';

/** Returns the full name of a group with a domain. */
export const withDomain = (group: string): string => `${group}.${VOCABULARIES.plat.apiGroupDomain}`;

/** Returns the function that creates rules for resources of the groups. `verbs`: separated by spaces. */
export const grantsOn =
  (...apiGroups: readonly string[]) =>
  (verbs: string, ...resources: readonly string[]): PolicyRule => ({
    verbs: verbs.split(' '),
    apiGroups,
    resources,
  });

/** Creates, repeats and amends Events in either of their groups. */
export const EVENTS_RULE: PolicyRule = grantsOn('', withDomain('events'))('create update patch', 'events');
