/** FlowSchemas: priority levels of requests. Source: flowcontrol/v1beta2. */

import type {
  FlowSchema,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import { dns1123LabelFaults, dns1123SubdomainFaults } from '#api/meta/names.ts';
import type { Faults } from '#api/schema/validation/faults.ts';
import type { KindEntry } from '../../contract.ts';
import { ageOf, NONE } from '../../rows.ts';
import { kindStrategy, statusPart } from '../kind.ts';
import { validateFlowConditions } from './conditions.ts';

const ALL = '*';
const EVERY_NAMESPACE = '*';
const EXEMPT = 'exempt';
const HIGHEST_PRECEDENCE = 10_000;
const METHODS = ['ByNamespace', 'ByUser'];
const VERBS = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'proxy'];
const PATH_VERBS = ['get', 'head', 'post', 'put', 'patch', 'delete', 'options'];

type SubjectMember = 'user' | 'group' | 'serviceAccount';
const SUBJECTS: ReadonlyMap<string, SubjectMember> = new Map<string, SubjectMember>([
  ['User', 'user'],
  ['Group', 'group'],
  ['ServiceAccount', 'serviceAccount'],
]);

function validateSubject(faults: Faults, subject: Subject, path: string): void {
  const { kind, user, group, serviceAccount } = subject;
  if (!SUBJECTS.has(kind)) faults.unsupported(`${path}.kind`, kind, [...SUBJECTS.keys()]);
  for (const [ofKind, member] of SUBJECTS) {
    const given = subject[member] !== undefined;
    if (ofKind === kind && !given) {
      faults.required(`${path}.${member}`, `is required when subject kind is '${kind}'`);
    } else if (ofKind !== kind && given) {
      faults.forbidden(`${path}.${member}`, `is forbidden when subject kind is not '${ofKind}'`);
    }
  }
  if (user?.name === '') faults.required(`${path}.user.name`);
  if (group?.name === '') faults.required(`${path}.group.name`);
  if (serviceAccount === undefined) return;
  const { name, namespace } = serviceAccount;
  if (name === '') faults.required(`${path}.serviceAccount.name`);
  else if (name !== ALL) faults.invalidAll(`${path}.serviceAccount.name`, name, dns1123SubdomainFaults(name));
  if (namespace === '') faults.required(`${path}.serviceAccount.namespace`);
  else faults.invalidAll(`${path}.serviceAccount.namespace`, namespace, dns1123LabelFaults(namespace));
}

/** Validates a list in which `*` must be the only value. */
function validateWords(
  faults: Faults,
  words: readonly string[],
  known: readonly string[],
  path: string,
): void {
  if (words.length === 0) return faults.required(path);
  if (words.includes(ALL)) {
    if (words.length > 1) faults.invalid(path, words, "if '*' is present, must not specify others");
    return undefined;
  }
  if (known.length === 0) return undefined;
  const unknown = words.filter((word) => !known.includes(word));
  if (unknown.length > 0) faults.unsupported(path, unknown, [ALL, ...known]);
  return undefined;
}

function validateResourceRule(faults: Faults, rule: ResourcePolicyRule, path: string): void {
  const { verbs, apiGroups, resources, namespaces = [], clusterScope = false } = rule;
  validateWords(faults, verbs, VERBS, `${path}.verbs`);
  validateWords(faults, apiGroups, [], `${path}.apiGroups`);
  validateWords(faults, resources, [], `${path}.resources`);
  if (namespaces.length === 0 && !clusterScope) {
    faults.required(
      `${path}.namespaces`,
      'resource rules that are not cluster scoped must supply at least one namespace',
    );
  }
  if (namespaces.includes(EVERY_NAMESPACE)) {
    if (namespaces.length > 1) {
      faults.invalid(`${path}.namespaces`, namespaces, "if '*' is present, must not specify others");
    }
    return;
  }
  for (const [index, namespace] of namespaces.entries()) {
    faults.invalidAll(`${path}.namespaces[${index}]`, namespace, dns1123LabelFaults(namespace));
  }
}

function validatePathRule(faults: Faults, rule: NonResourcePolicyRule, path: string): void {
  validateWords(faults, rule.verbs, PATH_VERBS, `${path}.verbs`);
  validateWords(faults, rule.nonResourceURLs, [], `${path}.nonResourceURLs`);
  if (rule.nonResourceURLs.includes(ALL)) return;
  for (const [index, url] of rule.nonResourceURLs.entries()) {
    const at = `${path}.nonResourceURLs[${index}]`;
    if (!url.startsWith('/')) faults.invalid(at, url, "must start with '/'");
    if (url.includes(' ')) faults.invalid(at, url, 'must not contain white-space');
    if (url !== '/' && url.includes('//')) faults.invalid(at, url, 'must not contain double slash');
    if (url.slice(0, -1).includes(ALL) || (url.endsWith(ALL) && !url.endsWith('/*'))) {
      faults.invalid(at, url, 'wildcard can only do suffix matching');
    }
  }
}

function validateRules(faults: Faults, rule: PolicyRulesWithSubjects, path: string): void {
  const { subjects, resourceRules = [], nonResourceRules = [] } = rule;
  if (subjects.length === 0) faults.required(`${path}.subjects`, 'subjects must contain at least one value');
  for (const [index, subject] of subjects.entries()) {
    validateSubject(faults, subject, `${path}.subjects[${index}]`);
  }
  if (resourceRules.length === 0 && nonResourceRules.length === 0) {
    faults.required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty');
  }
  for (const [index, each] of resourceRules.entries()) {
    validateResourceRule(faults, each, `${path}.resourceRules[${index}]`);
  }
  for (const [index, each] of nonResourceRules.entries()) {
    validatePathRule(faults, each, `${path}.nonResourceRules[${index}]`);
  }
}

function validateSpec(faults: Faults, name: string, spec: FlowSchemaSpec): void {
  const { matchingPrecedence = 0, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  if (matchingPrecedence <= 0)
    faults.invalid('spec.matchingPrecedence', matchingPrecedence, 'must be a positive value');
  if (matchingPrecedence > HIGHEST_PRECEDENCE) {
    const detail = `must not be greater than ${HIGHEST_PRECEDENCE}`;
    faults.invalid('spec.matchingPrecedence', matchingPrecedence, detail);
  }
  if (matchingPrecedence === 1 && name !== EXEMPT) {
    const detail = `only the schema named '${EXEMPT}' may have matchingPrecedence 1`;
    faults.invalid('spec.matchingPrecedence', matchingPrecedence, detail);
  }
  if (distinguisherMethod !== undefined && !METHODS.includes(distinguisherMethod.type)) {
    faults.unsupported('spec.distinguisherMethod.type', distinguisherMethod.type, METHODS);
  }
  const { name: level } = priorityLevelConfiguration;
  if (level === '')
    faults.required('spec.priorityLevelConfiguration.name', 'must reference a priority level');
  else faults.invalidAll('spec.priorityLevelConfiguration.name', level, dns1123SubdomainFaults(level));
  for (const [index, rule] of rules.entries()) validateRules(faults, rule, `spec.rules[${index}]`);
}

function missingLevelCell({ status }: FlowSchema): string {
  return status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?';
}

export const flowSchema: KindEntry = {
  strategy: kindStrategy<FlowSchema>({
    validate(faults, { metadata, spec }) {
      if (spec === undefined) return faults.required('spec');
      return validateSpec(faults, metadata?.name ?? '', spec);
    },
    row: (object, { nowMs }) => [
      object.metadata?.name ?? '',
      object.spec?.priorityLevelConfiguration.name ?? '',
      String(object.spec?.matchingPrecedence ?? 0),
      object.spec?.distinguisherMethod?.type ?? NONE,
      ageOf(object, nowMs),
      missingLevelCell(object),
    ],
  }),
  parts: {
    status: statusPart<FlowSchema>({
      validate: (faults, { status }) => validateFlowConditions(faults, status?.conditions ?? []),
    }),
  },
};
