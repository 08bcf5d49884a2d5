/** FlowSchemas: priority levels of requests. Source: flowcontrol/v1beta2. */

import type {
  FlowSchema,
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  ResourcePolicyRule,
  Subject,
} from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { FieldErrors } from '#api/schema/validation/field-errors.ts';
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

function validateSubject(errors: FieldErrors, subject: Subject, path: string): void {
  const { kind, user, group, serviceAccount } = subject;
  if (!SUBJECTS.has(kind)) errors.unsupported(`${path}.kind`, kind, [...SUBJECTS.keys()]);
  for (const [ofKind, member] of SUBJECTS) {
    const given = subject[member] !== undefined;
    if (ofKind === kind && !given) {
      errors.required(`${path}.${member}`, `is required when subject kind is '${kind}'`);
    } else if (ofKind !== kind && given) {
      errors.forbidden(`${path}.${member}`, `is forbidden when subject kind is not '${ofKind}'`);
    }
  }
  if (user?.name === '') errors.required(`${path}.user.name`);
  if (group?.name === '') errors.required(`${path}.group.name`);
  if (serviceAccount === undefined) return;
  const { name, namespace } = serviceAccount;
  if (name === '') errors.required(`${path}.serviceAccount.name`);
  else if (name !== ALL) errors.invalidAll(`${path}.serviceAccount.name`, name, dns1123SubdomainErrors(name));
  if (namespace === '') errors.required(`${path}.serviceAccount.namespace`);
  else errors.invalidAll(`${path}.serviceAccount.namespace`, namespace, dns1123LabelErrors(namespace));
}

/** Validates a list in which `*` must be the only value. */
function validateTexts(
  errors: FieldErrors,
  words: readonly string[],
  known: readonly string[],
  path: string,
): void {
  if (words.length === 0) return errors.required(path);
  if (words.includes(ALL)) {
    if (words.length > 1) errors.invalid(path, words, "if '*' is present, must not specify others");
    return undefined;
  }
  if (known.length === 0) return undefined;
  const unknown = words.filter((word) => !known.includes(word));
  if (unknown.length > 0) errors.unsupported(path, unknown, [ALL, ...known]);
  return undefined;
}

function validateResourceRule(errors: FieldErrors, rule: ResourcePolicyRule, path: string): void {
  const { verbs, apiGroups, resources, namespaces = [], clusterScope = false } = rule;
  validateTexts(errors, verbs, VERBS, `${path}.verbs`);
  validateTexts(errors, apiGroups, [], `${path}.apiGroups`);
  validateTexts(errors, resources, [], `${path}.resources`);
  if (namespaces.length === 0 && !clusterScope) {
    errors.required(
      `${path}.namespaces`,
      'resource rules that are not cluster scoped must supply at least one namespace',
    );
  }
  if (namespaces.includes(EVERY_NAMESPACE)) {
    if (namespaces.length > 1) {
      errors.invalid(`${path}.namespaces`, namespaces, "if '*' is present, must not specify others");
    }
    return;
  }
  for (const [index, namespace] of namespaces.entries()) {
    errors.invalidAll(`${path}.namespaces[${index}]`, namespace, dns1123LabelErrors(namespace));
  }
}

function validatePathRule(errors: FieldErrors, rule: NonResourcePolicyRule, path: string): void {
  validateTexts(errors, rule.verbs, PATH_VERBS, `${path}.verbs`);
  validateTexts(errors, rule.nonResourceURLs, [], `${path}.nonResourceURLs`);
  if (rule.nonResourceURLs.includes(ALL)) return;
  for (const [index, url] of rule.nonResourceURLs.entries()) {
    const at = `${path}.nonResourceURLs[${index}]`;
    if (!url.startsWith('/')) errors.invalid(at, url, "must start with '/'");
    if (url.includes(' ')) errors.invalid(at, url, 'must not contain white-space');
    if (url !== '/' && url.includes('//')) errors.invalid(at, url, 'must not contain double slash');
    if (url.slice(0, -1).includes(ALL) || (url.endsWith(ALL) && !url.endsWith('/*'))) {
      errors.invalid(at, url, 'wildcard can only do suffix matching');
    }
  }
}

function validateRules(errors: FieldErrors, rule: PolicyRulesWithSubjects, path: string): void {
  const { subjects, resourceRules = [], nonResourceRules = [] } = rule;
  if (subjects.length === 0) errors.required(`${path}.subjects`, 'subjects must contain at least one value');
  for (const [index, subject] of subjects.entries()) {
    validateSubject(errors, subject, `${path}.subjects[${index}]`);
  }
  if (resourceRules.length === 0 && nonResourceRules.length === 0) {
    errors.required(path, 'at least one of resourceRules and nonResourceRules has to be non-empty');
  }
  for (const [index, each] of resourceRules.entries()) {
    validateResourceRule(errors, each, `${path}.resourceRules[${index}]`);
  }
  for (const [index, each] of nonResourceRules.entries()) {
    validatePathRule(errors, each, `${path}.nonResourceRules[${index}]`);
  }
}

function validateSpec(errors: FieldErrors, name: string, spec: FlowSchemaSpec): void {
  const { matchingPrecedence = 0, distinguisherMethod, priorityLevelConfiguration, rules = [] } = spec;
  if (matchingPrecedence <= 0)
    errors.invalid('spec.matchingPrecedence', matchingPrecedence, 'must be a positive value');
  if (matchingPrecedence > HIGHEST_PRECEDENCE) {
    const detail = `must not be greater than ${HIGHEST_PRECEDENCE}`;
    errors.invalid('spec.matchingPrecedence', matchingPrecedence, detail);
  }
  if (matchingPrecedence === 1 && name !== EXEMPT) {
    const detail = `only the schema named '${EXEMPT}' may have matchingPrecedence 1`;
    errors.invalid('spec.matchingPrecedence', matchingPrecedence, detail);
  }
  if (distinguisherMethod !== undefined && !METHODS.includes(distinguisherMethod.type)) {
    errors.unsupported('spec.distinguisherMethod.type', distinguisherMethod.type, METHODS);
  }
  const { name: level } = priorityLevelConfiguration;
  if (level === '')
    errors.required('spec.priorityLevelConfiguration.name', 'must reference a priority level');
  else errors.invalidAll('spec.priorityLevelConfiguration.name', level, dns1123SubdomainErrors(level));
  for (const [index, rule] of rules.entries()) validateRules(errors, rule, `spec.rules[${index}]`);
}

function missingLevelCell({ status }: FlowSchema): string {
  return status?.conditions?.find(({ type }) => type === 'Dangling')?.status ?? '?';
}

export const flowSchema: KindEntry = {
  strategy: kindStrategy<FlowSchema>({
    validate(errors, { metadata, spec }) {
      if (spec === undefined) return errors.required('spec');
      return validateSpec(errors, metadata?.name ?? '', spec);
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
      validate: (errors, { status }) => validateFlowConditions(errors, status?.conditions ?? []),
    }),
  },
};
