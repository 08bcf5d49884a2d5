/** Evaluates policy rules, and decides whether some rules cover others. Pure. Source: authorization, document
 *  2 §2.7 and §5; upstream's rbac authorizer. */
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import type { AuthorizationAttributes } from './contract.ts';

const ALL = '*';

const has = (list: readonly string[] | undefined, wanted: string): boolean =>
  list !== undefined && (list.includes(ALL) || list.includes(wanted));

/** `pods/log`, or every subresource `*` + `/log`. */
function hasResource(
  resources: readonly string[] | undefined,
  resource: string,
  subresource: string,
): boolean {
  if (resources === undefined) return false;
  const combined = subresource === '' ? resource : `${resource}/${subresource}`;
  return resources.some(
    (rule) => rule === ALL || rule === combined || (subresource !== '' && rule === `*/${subresource}`),
  );
}

/** Reports whether one of the URLs matches: exactly, or by the prefix before a trailing `*`. */
const hasPath = (urls: readonly string[] | undefined, path: string): boolean =>
  urls?.some(
    (url) => url === ALL || url === path || (url.endsWith(ALL) && path.startsWith(url.slice(0, -1))),
  ) === true;

/** Whether one rule allows the request. */
export function allows(rule: PolicyRule, attributes: AuthorizationAttributes): boolean {
  if (!has(rule.verbs, attributes.verb)) return false;
  if (!attributes.isResource) return hasPath(rule.nonResourceURLs, attributes.path);
  const names = rule.resourceNames ?? [];
  return (
    has(rule.apiGroups, attributes.group) &&
    hasResource(rule.resources, attributes.resource, attributes.subresource) &&
    (names.length === 0 || names.includes(attributes.name))
  );
}

/** A rule for one verb on one thing: rules are compared piece by piece. */
function* pieces(rule: PolicyRule): Generator<PolicyRule> {
  for (const verb of rule.verbs) {
    for (const url of rule.nonResourceURLs ?? []) yield { verbs: [verb], nonResourceURLs: [url] };
    for (const group of rule.apiGroups ?? []) {
      for (const resource of rule.resources ?? []) {
        const names = rule.resourceNames ?? [];
        const base = { verbs: [verb], apiGroups: [group], resources: [resource] };
        if (names.length === 0) yield base;
        for (const name of names) yield { ...base, resourceNames: [name] };
      }
    }
  }
}

const covered = (owner: readonly string[] | undefined, wanted: readonly string[] | undefined): boolean =>
  (wanted ?? []).every((item) => has(owner, item));

function coversResource(
  owner: readonly string[] | undefined,
  [wanted = '']: readonly string[] = [],
): boolean {
  const [, subresource] = wanted.split('/');
  return has(owner, wanted) || (subresource !== undefined && owner?.includes(`*/${subresource}`) === true);
}

function coversPiece(owner: PolicyRule, piece: PolicyRule): boolean {
  if (!covered(owner.verbs, piece.verbs)) return false;
  if (piece.nonResourceURLs !== undefined) {
    return piece.nonResourceURLs.every((url) => hasPath(owner.nonResourceURLs, url));
  }
  const names = owner.resourceNames ?? [];
  const wanted = piece.resourceNames ?? [];
  return (
    covered(owner.apiGroups, piece.apiGroups) &&
    coversResource(owner.resources, piece.resources) &&
    (names.length === 0 || (wanted.length > 0 && wanted.every((name) => names.includes(name))))
  );
}

/** Returns the single rules of `wanted` that `owned` does not cover. */
export function uncovered(
  owned: readonly PolicyRule[],
  wanted: readonly PolicyRule[],
): readonly PolicyRule[] {
  return wanted.flatMap((rule) =>
    [...pieces(rule)].filter((piece) => !owned.some((mine) => coversPiece(mine, piece))),
  );
}
