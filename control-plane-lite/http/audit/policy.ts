/** Audit policy: parses policy files and returns the audit level of a request. Pure.
 *  Source: auditing, document 1 §9.4; policy format of upstream's release 1.24. */
import { isObject } from '#api/kit/object.ts';
import type { UserInfo } from '../../resources/contract.ts';
import type { RequestInfo } from '../contract.ts';

const LEVELS = ['None', 'Metadata', 'Request', 'RequestResponse'] as const;
const STAGES = ['RequestReceived', 'ResponseStarted', 'ResponseComplete', 'Panic'] as const;
export type AuditLevel = (typeof LEVELS)[number];
export type AuditStage = (typeof STAGES)[number];

export interface ResourceMatch {
  readonly group: string;
  readonly resources: readonly string[];
  readonly resourceNames: readonly string[];
}

export interface PolicyRule {
  readonly level: AuditLevel;
  readonly users: readonly string[];
  readonly userGroups: readonly string[];
  readonly verbs: readonly string[];
  readonly resources: readonly ResourceMatch[];
  readonly namespaces: readonly string[];
  readonly nonResourceURLs: readonly string[];
  readonly omitStages: readonly AuditStage[];
  /** Absent: the policy's own. */
  readonly omitManagedFields?: boolean;
}

export interface AuditPolicy {
  readonly rules: readonly PolicyRule[];
  readonly omitStages: readonly AuditStage[];
  readonly omitManagedFields: boolean;
}

/** The level and the omitted stages of one request. */
export interface AuditScope {
  readonly level: AuditLevel;
  readonly omitStages: ReadonlySet<AuditStage>;
  readonly omitManagedFields: boolean;
}

/** An invalid policy, with every error found. */
export class AuditPolicyError extends Error {
  override readonly name = 'AuditPolicyError';
  readonly errors: readonly string[];

  constructor(errors: readonly string[]) {
    super(`invalid audit policy: ${errors.join('; ')}`);
    this.errors = errors;
  }
}

type Members = Readonly<Record<string, unknown>>;

interface Reader {
  readonly errors: string[];
  text(members: Members, name: string, path: string): string;
  texts(members: Members, name: string, path: string): readonly string[];
  objects(members: Members, name: string, path: string): readonly Members[];
}

function createReader(): Reader {
  const errors: string[] = [];
  const list = (members: Members, name: string, path: string): readonly unknown[] => {
    const value = members[name];
    if (value === undefined || value === null) return [];
    if (Array.isArray(value)) return value;
    errors.push(`${path}${name} must be a list`);
    return [];
  };
  return {
    errors,
    text(members, name, path) {
      const value = members[name] ?? '';
      if (typeof value === 'string') return value;
      errors.push(`${path}${name} must be a text`);
      return '';
    },
    texts(members, name, path) {
      const values = list(members, name, path);
      const found = values.filter((value): value is string => typeof value === 'string');
      if (found.length !== values.length) errors.push(`${path}${name} must be a list of texts`);
      return found;
    },
    objects(members, name, path) {
      const values = list(members, name, path);
      const found = values.filter(isObject);
      if (found.length !== values.length) errors.push(`${path}${name} must be a list of objects`);
      return found;
    },
  };
}

function readStages(reader: Reader, members: Members, path: string): readonly AuditStage[] {
  return reader.texts(members, 'omitStages', path).flatMap((word) => {
    const stage = STAGES.find((each) => each === word);
    if (stage !== undefined) return [stage];
    reader.errors.push(`${path}omitStages must be of ${STAGES.join(', ')}, not ${JSON.stringify(word)}`);
    return [];
  });
}

function readFlag(reader: Reader, members: Members, path: string): boolean | undefined {
  const value = members['omitManagedFields'];
  if (value === undefined || value === null || typeof value === 'boolean') return value ?? undefined;
  reader.errors.push(`${path}omitManagedFields must be true or false`);
  return undefined;
}

function readUrls(reader: Reader, members: Members, path: string): readonly string[] {
  const urls = reader.texts(members, 'nonResourceURLs', path);
  for (const url of urls) {
    const star = url.indexOf('*');
    if (url === '*' || (url.startsWith('/') && (star < 0 || star === url.length - 1))) continue;
    reader.errors.push(`${path}nonResourceURLs: ${JSON.stringify(url)} must begin with / and may end with *`);
  }
  return urls;
}

function readResources(reader: Reader, members: Members, path: string): readonly ResourceMatch[] {
  return reader.objects(members, 'resources', path).map((each, index) => {
    const at = `${path}resources[${index}].`;
    const group = reader.text(each, 'group', at);
    const resources = reader.texts(each, 'resources', at);
    const resourceNames = reader.texts(each, 'resourceNames', at);
    if (group.includes('/')) reader.errors.push(`${at}group must not have a version`);
    if (resourceNames.length > 0 && resources.length === 0) {
      reader.errors.push(`${at}resourceNames need resources`);
    }
    return { group, resources, resourceNames };
  });
}

function readRule(reader: Reader, members: Members, path: string): PolicyRule {
  const word = reader.text(members, 'level', path);
  const level = LEVELS.find((each) => each === word);
  if (level === undefined) reader.errors.push(`${path}level must be one of ${LEVELS.join(', ')}`);
  const omitManagedFields = readFlag(reader, members, path);
  const rule = {
    level: level ?? 'None',
    users: reader.texts(members, 'users', path),
    userGroups: reader.texts(members, 'userGroups', path),
    verbs: reader.texts(members, 'verbs', path),
    resources: readResources(reader, members, path),
    namespaces: reader.texts(members, 'namespaces', path),
    nonResourceURLs: readUrls(reader, members, path),
    omitStages: readStages(reader, members, path),
    ...(omitManagedFields === undefined ? {} : { omitManagedFields }),
  };
  if (rule.nonResourceURLs.length > 0 && rule.resources.length + rule.namespaces.length > 0) {
    reader.errors.push(`${path}nonResourceURLs can't stand beside resources and namespaces`);
  }
  return rule;
}

/** Parses a policy file's value. `domain` is that of the API groups.
 *  @throws AuditPolicyError with every error */
export function parseAuditPolicy(value: unknown, domain: string): AuditPolicy {
  const reader = createReader();
  if (!isObject(value)) throw new AuditPolicyError(['it must be an object']);
  const apiVersion = `audit.${domain}/v1`;
  if (value['apiVersion'] !== apiVersion) reader.errors.push(`apiVersion must be ${apiVersion}`);
  if (value['kind'] !== 'Policy') reader.errors.push('kind must be Policy');
  const rules = reader
    .objects(value, 'rules', '')
    .map((members, index) => readRule(reader, members, `rules[${index}].`));
  if (rules.length === 0) reader.errors.push('rules must not be empty');
  const policy = {
    rules,
    omitStages: readStages(reader, value, ''),
    omitManagedFields: readFlag(reader, value, '') ?? false,
  };
  if (reader.errors.length > 0) throw new AuditPolicyError(reader.errors);
  return policy;
}

function matchesUrl(path: string, pattern: string): boolean {
  if (pattern === '*' || pattern === path) return true;
  return pattern.endsWith('*') && path.startsWith(pattern.slice(0, -1));
}

function matchesResource(info: RequestInfo, match: ResourceMatch): boolean {
  if (match.group !== info.group) return false;
  if (match.resources.length === 0) return true;
  if (match.resourceNames.length > 0 && !match.resourceNames.includes(info.name)) return false;
  const { resource, subresource } = info;
  const whole = subresource === '' ? resource : `${resource}/${subresource}`;
  return match.resources.some((pattern) => {
    if (pattern === '*' || pattern === whole || pattern === `${resource}/*`) return true;
    return subresource !== '' && pattern === `*/${subresource}`;
  });
}

function matchesTarget(info: RequestInfo, rule: PolicyRule): boolean {
  if (rule.resources.length > 0 || rule.namespaces.length > 0) {
    if (!info.isResource) return false;
    if (rule.namespaces.length > 0 && !rule.namespaces.includes(info.namespace)) return false;
    return rule.resources.length === 0 || rule.resources.some((match) => matchesResource(info, match));
  }
  if (rule.nonResourceURLs.length === 0) return true;
  return !info.isResource && rule.nonResourceURLs.some((pattern) => matchesUrl(info.path, pattern));
}

export function matchesRule(info: RequestInfo, user: UserInfo, rule: PolicyRule): boolean {
  if (rule.users.length > 0 && !rule.users.includes(user.name)) return false;
  if (rule.userGroups.length > 0 && !rule.userGroups.some((group) => user.groups.includes(group)))
    return false;
  if (rule.verbs.length > 0 && !rule.verbs.includes(info.verb)) return false;
  return matchesTarget(info, rule);
}

/** Returns the level of the first matching rule; without one nothing is recorded. */
export function scopeFor(policy: AuditPolicy, info: RequestInfo, user: UserInfo): AuditScope {
  const rule = policy.rules.find((each) => matchesRule(info, user, each));
  return {
    level: rule?.level ?? 'None',
    omitStages: new Set([...policy.omitStages, ...(rule?.omitStages ?? [])]),
    omitManagedFields: rule?.omitManagedFields ?? policy.omitManagedFields,
  };
}
