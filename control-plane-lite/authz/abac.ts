/** Attribute-based access control: a request is allowed if one policy of a file matches it. Pure. Source:
 *  upstream's abac authorizer, release 1.24. */
import { trimEnd } from '#api/kit/text/trim-end.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { AbacPolicy } from './abac-policy.ts';
import type { AuthorizationAttributes, Authorizer, Decision } from './contract.ts';

const ALL = '*';
const READS = ['get', 'list', 'watch'];
const EVERY_VERB = [ALL];

const ALLOWED: Decision = { effect: 'allow', reason: '' };
const NO_MATCH: Decision = { effect: 'none', reason: 'No policy matched.' };

function matchesSubject({ user, group }: AbacPolicy, { name, groups }: UserInfo): boolean {
  if (user === '' && group === '') return false;
  if (user !== '' && user !== ALL && user !== name) return false;
  return group === '' || group === ALL || groups.includes(group);
}

const matches = (pattern: string, value: string): boolean => pattern === ALL || pattern === value;

function matchesPath(pattern: string, path: string): boolean {
  if (matches(pattern, path)) return true;
  return pattern.endsWith(ALL) && path.startsWith(trimEnd(pattern, ALL));
}

function allows(policy: AbacPolicy, asked: AuthorizationAttributes): boolean {
  if (policy.readonly && !READS.includes(asked.verb)) return false;
  if (!asked.isResource) return matchesPath(policy.nonResourcePath, asked.path);
  return (
    matches(policy.namespace, asked.namespace) &&
    matches(policy.resource, asked.resource) &&
    matches(policy.apiGroup, asked.group)
  );
}

export function createAbac(policies: readonly AbacPolicy[]): Authorizer {
  return {
    name: 'ABAC',
    authorize: (asked) =>
      policies.some((policy) => matchesSubject(policy, asked.user) && allows(policy, asked))
        ? ALLOWED
        : NO_MATCH,
    rulesOf(user, namespace) {
      const own = policies.filter(
        (policy) => matchesSubject(policy, user) && matches(policy.namespace, namespace),
      );
      const verbsOf = (policy: AbacPolicy): readonly string[] => (policy.readonly ? READS : EVERY_VERB);
      return {
        resource: own.flatMap((policy) =>
          policy.resource === ''
            ? []
            : [{ verbs: verbsOf(policy), apiGroups: [policy.apiGroup], resources: [policy.resource] }],
        ),
        nonResource: own.flatMap((policy) =>
          policy.nonResourcePath === ''
            ? []
            : [{ verbs: verbsOf(policy), nonResourceURLs: [policy.nonResourcePath] }],
        ),
        missing: [],
      };
    },
  };
}
