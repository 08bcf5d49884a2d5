/** Matches requests with FlowSchemas. Rules are compiled once for each configuration, and their subjects are
 *  compared once for each user: a request is only compared with the rules of its user. Pure. Source: upstream's
 *  rule.go of release 1.24. */
import type {
  FlowSchema,
  NonResourcePolicyRule,
  ResourcePolicyRule,
  Subject,
} from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { UserInfo } from '../resources/contract.ts';
import type { FlowRequest, FlowTarget } from './contract.ts';

const ALL = '*';
const ACCOUNT_PREFIX = 'system:serviceaccount:';
/** Maximum number of users whose rules are cached. */
const MOST_USERS = 5000;

/** `undefined`: everything. The wildcard counts only if it is alone. */
type Names = ReadonlySet<string> | undefined;

const namesOf = (names: readonly string[] = []): Names =>
  names.length === 1 && names[0] === ALL ? undefined : new Set(names);
const has = (names: Names, name: string): boolean => names === undefined || names.has(name);

interface ResourceRule {
  readonly verbs: Names;
  readonly groups: Names;
  /** `resource` or `resource/subresource`. */
  readonly resources: Names;
  readonly namespaces: Names;
  readonly clusterScope: boolean;
}

interface PathRule {
  readonly verbs: Names;
  readonly isEvery: boolean;
  readonly exact: ReadonlySet<string>;
  readonly prefixes: readonly string[];
}

interface Rule {
  readonly subjects: readonly Subject[];
  readonly resources: readonly ResourceRule[];
  readonly paths: readonly PathRule[];
}

/** The rules of one FlowSchema whose subjects include a user. */
interface UserRules<Target> {
  readonly target: Target;
  readonly rules: readonly Rule[];
}

const resourceRule = (rule: ResourcePolicyRule): ResourceRule => ({
  verbs: namesOf(rule.verbs),
  groups: namesOf(rule.apiGroups),
  resources: namesOf(rule.resources),
  namespaces: namesOf(rule.namespaces),
  clusterScope: rule.clusterScope === true,
});

/** A path also matches everything below it, with or without a wildcard. */
function prefixOf(path: string): string {
  const prefix = path.endsWith(ALL) ? path.slice(0, -1) : path;
  return prefix.endsWith('/') ? prefix : `${prefix}/`;
}

const pathRule = ({ verbs, nonResourceURLs }: NonResourcePolicyRule): PathRule => ({
  verbs: namesOf(verbs),
  isEvery: nonResourceURLs.includes(ALL),
  exact: new Set(nonResourceURLs),
  prefixes: nonResourceURLs.map(prefixOf),
});

function isInNamespace(userName: string, namespace: string): boolean {
  return userName.startsWith(`${ACCOUNT_PREFIX}${namespace}:`);
}

function includesUser({ kind, user, group, serviceAccount }: Subject, { name, groups }: UserInfo): boolean {
  switch (kind) {
    case 'User':
      return user !== undefined && (user.name === ALL || user.name === name);
    case 'Group':
      return group !== undefined && (group.name === ALL || groups.includes(group.name));
    case 'ServiceAccount':
      if (serviceAccount === undefined) return false;
      return serviceAccount.name === ALL
        ? isInNamespace(name, serviceAccount.namespace)
        : name === `${ACCOUNT_PREFIX}${serviceAccount.namespace}:${serviceAccount.name}`;
    default:
      return false;
  }
}

function matchesResource(rule: ResourceRule, info: FlowTarget): boolean {
  if (!has(rule.verbs, info.verb) || !has(rule.groups, info.group)) return false;
  const { resources } = rule;
  if (resources !== undefined) {
    const { resource, subresource } = info;
    if (!resources.has(subresource === '' ? resource : `${resource}/${subresource}`)) return false;
  }
  return info.namespace === '' ? rule.clusterScope : has(rule.namespaces, info.namespace);
}

function matchesPath(rule: PathRule, { verb, path }: FlowTarget): boolean {
  if (!has(rule.verbs, verb)) return false;
  if (rule.isEvery || rule.exact.has(path)) return true;
  for (const prefix of rule.prefixes) if (path.startsWith(prefix)) return true;
  return false;
}

function matchesRule(rule: Rule, info: FlowTarget): boolean {
  if (info.isResource) {
    for (const each of rule.resources) if (matchesResource(each, info)) return true;
    return false;
  }
  for (const each of rule.paths) if (matchesPath(each, info)) return true;
  return false;
}

/** The order of matching: by precedence, then by name. */
export function compareSchemas(left: FlowSchema, right: FlowSchema): number {
  const byPrecedence = (left.spec?.matchingPrecedence ?? 0) - (right.spec?.matchingPrecedence ?? 0);
  if (byPrecedence !== 0) return byPrecedence;
  const [a, b] = [left.metadata?.name ?? '', right.metadata?.name ?? ''];
  return a < b ? -1 : Number(a > b);
}

export interface Matched<Target> {
  readonly schema: FlowSchema;
  readonly target: Target;
}

interface KnownUser<Target> {
  readonly groups: readonly string[];
  readonly schemas: readonly UserRules<Target>[];
}

function haveSameGroups(left: readonly string[], right: readonly string[]): boolean {
  if (left === right) return true;
  if (left.length !== right.length) return false;
  for (let index = 0; index < left.length; index += 1) if (left[index] !== right[index]) return false;
  return true;
}

export type Classifier<Target> = (request: Pick<FlowRequest, 'user' | 'info'>) => Target;

/** Returns a function that returns the target of the first FlowSchema that matches a request.
 *  @param schemas in the order of matching
 *  @param otherwise target of a request that no schema matches */
export function createClassifier<Target>(
  schemas: readonly Matched<Target>[],
  otherwise: Target,
): Classifier<Target> {
  const compiled = schemas.map(({ schema, target }) => ({
    target,
    rules: (schema.spec?.rules ?? []).map(
      (rule): Rule => ({
        subjects: rule.subjects,
        resources: (rule.resourceRules ?? []).map(resourceRule),
        paths: (rule.nonResourceRules ?? []).map(pathRule),
      }),
    ),
  }));
  const users = new Map<string, KnownUser<Target>>();

  function schemasOf(user: UserInfo): readonly UserRules<Target>[] {
    const known = users.get(user.name);
    if (known !== undefined && haveSameGroups(known.groups, user.groups)) return known.schemas;
    const own = compiled
      .map(({ target, rules }) => ({
        target,
        rules: rules.filter(({ subjects }) => subjects.some((subject) => includesUser(subject, user))),
      }))
      .filter(({ rules }) => rules.length > 0);
    if (users.size >= MOST_USERS) users.clear();
    users.set(user.name, { groups: user.groups, schemas: own });
    return own;
  }

  return ({ user, info }) => {
    for (const { target, rules } of schemasOf(user)) {
      for (const rule of rules) if (matchesRule(rule, info)) return target;
    }
    return otherwise;
  };
}
