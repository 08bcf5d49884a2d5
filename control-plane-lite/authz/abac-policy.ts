/** Attribute-based policies, parsed from a file with one JSON object on each line. Pure. Source: upstream's abac
 *  API, versions v0 and v1beta1, release 1.24. */
import { type Findings, openSection, type Section } from '#api/client-config/fields.ts';
import { parseJsonText } from '#api/codec/json-text.ts';
import { messageOf } from '#api/kit/error-chain.ts';
import { isMutableObject, textOf } from '#api/kit/object.ts';
import { type FieldError, formatErrorDetail, formatFieldError } from '#api/meta/field-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { AUTHENTICATED_GROUP } from '../authn/users.ts';

/** What a policy allows. `*` matches everything; an empty member matches only what is empty. */
export interface AbacPolicy {
  /** Empty: any user of the group. */
  readonly user: string;
  /** Empty: any group of the user. A policy with neither matches nobody. */
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  /** A trailing `*` matches every path that starts with the rest. */
  readonly nonResourcePath: string;
}

export interface AbacFile {
  readonly policies: readonly AbacPolicy[];
  /** Lines without effect in part, or in the old version. */
  readonly warnings: readonly string[];
}

/** A policy file that cannot be used: names the file and the line. */
export class AbacPolicyError extends Error {
  override readonly name = 'AbacPolicyError';
}

const ALL = '*';
const KIND = 'Policy';
/** Either vocabulary will do. */
const GROUPS = Object.values(VOCABULARIES).map(({ domain }) => `abac.authorization.${domain}`);
const V0_MEMBERS = ['apiVersion', 'kind', 'user', 'group', 'readonly', 'resource', 'namespace'];
const V1BETA1_MEMBERS = ['user', 'group', 'readonly', 'apiGroup', 'resource', 'namespace', 'nonResourcePath'];

type Subject = Pick<AbacPolicy, 'user' | 'group'>;

/** Any user and any group are every authenticated user. */
const subjectOf = (section: Section): Subject => {
  const [user, group] = [section.text('user'), section.text('group')];
  return user === ALL || group === ALL ? { user: '', group: AUTHENTICATED_GROUP } : { user, group };
};

const orAll = (text: string): string => (text === '' ? ALL : text);

/** In v0, what is absent matches everything. */
function readV0(section: Section): AbacPolicy {
  const { user, group } = subjectOf(section);
  const [resource, namespace] = [section.text('resource'), section.text('namespace')];
  return {
    user,
    group: user === '' && group === '' ? AUTHENTICATED_GROUP : group,
    readonly: section.flag('readonly'),
    apiGroup: ALL,
    resource: orAll(resource),
    namespace: orAll(namespace),
    nonResourcePath: resource === '' && namespace === '' ? ALL : '',
  };
}

function readV1beta1(section: Section | undefined): AbacPolicy {
  const text = (name: string): string => section?.text(name) ?? '';
  return {
    ...(section === undefined ? { user: '', group: '' } : subjectOf(section)),
    readonly: section?.flag('readonly') ?? false,
    apiGroup: text('apiGroup'),
    resource: text('resource'),
    namespace: text('namespace'),
    nonResourcePath: text('nonResourcePath'),
  };
}

const textsOf = (errors: readonly FieldError[]): string =>
  errors.map((each) => (each.field === '' ? formatErrorDetail(each) : formatFieldError(each))).join('; ');

interface Line {
  readonly policy: AbacPolicy;
  readonly isVersioned: boolean;
  readonly warnings: readonly FieldError[];
}

/** @throws Error that describes what is wrong */
function parseLine(text: string): Line {
  const value: unknown = parseJsonText(text);
  if (!isMutableObject(value)) throw new Error('must be an object');
  const [apiVersion, kind] = [textOf(value['apiVersion']), textOf(value['kind'])];
  const findings: Findings = { errors: [], warnings: [] };
  const isVersioned = apiVersion !== '';
  const isIn = (version: string): boolean => GROUPS.some((group) => apiVersion === `${group}/${version}`);
  let policy: AbacPolicy;
  if ((kind === KIND || (kind === '' && !isVersioned)) && (!isVersioned || isIn('v0'))) {
    policy = readV0(openSection(value, '', V0_MEMBERS, findings));
  } else if (kind === KIND && isIn('v1beta1')) {
    const root = openSection(value, '', ['apiVersion', 'kind', 'spec'], findings);
    policy = readV1beta1(root.section('spec', V1BETA1_MEMBERS));
  } else {
    throw new Error(`no kind "${kind}" is registered for version "${apiVersion}"`);
  }
  if (findings.errors.length > 0) throw new Error(textsOf(findings.errors));
  return { policy, isVersioned, warnings: findings.warnings };
}

/** Parses a policy file. Empty lines and lines that start with `#` are comments. Unknown members have no effect,
 *  and are warned about. @throws AbacPolicyError that names the file and the first invalid line */
export function parseAbacPolicies(content: string, file: string): AbacFile {
  const policies: AbacPolicy[] = [];
  const warnings: string[] = [];
  let unversioned = 0;
  for (const [index, line] of content.split('\n').entries()) {
    const text = line.trim();
    if (text === '' || text.startsWith('#')) continue;
    try {
      const parsed = parseLine(text);
      policies.push(parsed.policy);
      if (!parsed.isVersioned) unversioned += 1;
      if (parsed.warnings.length > 0)
        warnings.push(`${file}, line ${index + 1}: ${textsOf(parsed.warnings)}`);
    } catch (cause) {
      const where = `error reading policy file ${file}, line ${index + 1}`;
      throw new AbacPolicyError(`${where}: ${text}: ${messageOf(cause)}`, { cause });
    }
  }
  if (unversioned > 0)
    warnings.push(`${file}: ${unversioned} policies have no apiVersion and are read as v0`);
  return { policies, warnings };
}
