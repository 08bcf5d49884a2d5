/** Default roles and bindings of a new server, in its vocabulary. Pure. Source: data/bootstrap-policy.json,
 *  after upstream's default roles, and the roles of the controllers. */
import { createRequire } from 'node:module';
import { isDeepStrictEqual } from 'node:util';
import type { ClusterRole, PolicyRule, Subject } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { wireGroup } from '../resources/facts.ts';
import { typed } from '../resources/view.ts';
import { aggregatedRules } from './aggregated-rules.ts';

interface RoleFact {
  readonly name: string;
  readonly namespace?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly rules?: readonly PolicyRule[];
  /** Labels of the roles that make this one up. */
  readonly aggregate?: readonly Readonly<Record<string, string>>[];
  readonly subjects?: readonly Subject[];
}

interface BindingFact {
  readonly name: string;
  readonly role: string;
  readonly subjects: readonly Subject[];
}

interface PolicyFacts {
  readonly clusterRoles: readonly RoleFact[];
  readonly clusterRoleBindings: readonly BindingFact[];
  readonly roles: readonly RoleFact[];
}

/** Role of a controller and of its service account, in the neutral vocabulary. */
export interface ControllerRole {
  /** Name of the account in the system namespace; `system:controller:` precedes it in the name of the role. */
  readonly name: string;
  readonly rules: readonly PolicyRule[];
}

const RBAC_GROUP = `rbac.authorization.${VOCABULARIES.plat.apiGroupDomain}`;

function readFacts(): PolicyFacts {
  const requireData = createRequire(import.meta.url);
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- a table of ours, checked by bootstrap.test.ts
  return requireData('./data/bootstrap-policy.json') as PolicyFacts;
}

const controllerRoleName = ({ name }: ControllerRole): string => `system:controller:${name}`;

/** The facts with the role and the binding of each controller. */
function withControllers(facts: PolicyFacts, controllers: readonly ControllerRole[]): PolicyFacts {
  const { systemNamespace } = VOCABULARIES.plat;
  return {
    ...facts,
    clusterRoles: [
      ...facts.clusterRoles,
      ...controllers.map((role) => ({ name: controllerRoleName(role), rules: role.rules })),
    ],
    clusterRoleBindings: [
      ...facts.clusterRoleBindings,
      ...controllers.map((role) => ({
        name: controllerRoleName(role),
        role: controllerRoleName(role),
        subjects: [{ kind: 'ServiceAccount', name: role.name, namespace: systemNamespace }],
      })),
    ],
  };
}

/** Translates neutral names, groups and labels to the vocabulary. */
function createTranslator(to: Vocabulary): (text: string) => string {
  const from = VOCABULARIES.plat;
  const names: readonly (readonly [string, string])[] = [
    [`system:${from.componentPrefix}-`, `system:${to.componentPrefix}-`],
    [`locking-${from.componentPrefix}-`, `locking-${to.componentPrefix}-`],
    [`certificates.${from.apiGroupDomain}:`, `certificates.${to.apiGroupDomain}:`],
    [from.apiServerClientSigner, to.apiServerClientSigner],
    [`${from.agentComponent}-`, `${to.agentComponent}-`],
    [`-${from.agentComponent}`, `-${to.agentComponent}`],
    [`rbac.authorization.${from.apiGroupDomain}/`, `rbac.authorization.${to.apiGroupDomain}/`],
  ];
  const prefix = `${from.componentPrefix}-`;
  return (text) => {
    const translated = names.reduce((done, [own, wire]) => done.replace(own, wire), text);
    if (translated.startsWith(prefix)) return `${to.componentPrefix}-${translated.slice(prefix.length)}`;
    // Signers: domain/name.
    if (translated.startsWith(`${from.domain}/`)) {
      return `${to.name === 'plat' ? from.domain : to.domain}/${translated.slice(from.domain.length + 1)}`;
    }
    return translated;
  };
}

function wireRule(rule: PolicyRule, vocabulary: Vocabulary): PolicyRule {
  const translate = createTranslator(vocabulary);
  const { apiGroups, resourceNames } = rule;
  return {
    ...rule,
    ...(apiGroups === undefined ? {} : { apiGroups: apiGroups.map((group) => wireGroup(group, vocabulary)) }),
    ...(resourceNames === undefined ? {} : { resourceNames: resourceNames.map(translate) }),
  };
}

/** The roles with their aggregated rules, which are therefore effective at once. */
function aggregated(objects: readonly ApiObject[]): readonly ApiObject[] {
  const next = objects.map((object) => {
    const rules = aggregatedRules(typed<ClusterRole>(object), objects.map(typed<ClusterRole>));
    return rules === undefined || isDeepStrictEqual(rules, object['rules']) ? object : { ...object, rules };
  });
  return next.every((object, index) => object === objects[index]) ? objects : aggregated(next);
}

/** Every role and binding as objects to be created, roles before bindings. */
export function bootstrapPolicy(
  vocabulary: Vocabulary,
  controllers: readonly ControllerRole[] = [],
): readonly ApiObject[] {
  const facts = withControllers(readFacts(), controllers);
  const translate = createTranslator(vocabulary);
  const group = wireGroup(RBAC_GROUP, vocabulary);
  const translateKeys = (labels: Readonly<Record<string, string>>): Record<string, string> =>
    Object.fromEntries(Object.entries(labels).map(([key, value]) => [translate(key), value]));

  function object(
    kind: string,
    fact: { readonly name: string; readonly namespace?: string; readonly labels?: RoleFact['labels'] },
    body: object,
  ): ApiObject {
    const { namespace } = fact;
    return {
      apiVersion: `${group}/v1`,
      kind,
      metadata: {
        name: translate(fact.name),
        ...(namespace === undefined ? {} : { namespace: translate(namespace) }),
        labels: { [vocabulary.labelBootstrapping]: 'rbac-defaults', ...translateKeys(fact.labels ?? {}) },
        annotations: { [vocabulary.annotationAutoUpdate]: 'true' },
      },
      ...body,
    };
  }
  const wireSubjects = (subjects: readonly Subject[]): readonly Subject[] =>
    subjects.map((subject) => ({
      ...subject,
      name: translate(subject.name),
      ...(subject.kind === 'ServiceAccount' ? {} : { apiGroup: group }),
      ...(subject.namespace === undefined ? {} : { namespace: translate(subject.namespace) }),
    }));
  const rules = ({ rules: given = [] }: RoleFact): readonly PolicyRule[] =>
    given.map((rule) => wireRule(rule, vocabulary));
  const bindingBody = (roleKind: string, role: string, subjects: readonly Subject[]): object => ({
    roleRef: { apiGroup: group, kind: roleKind, name: translate(role) },
    ...(subjects.length === 0 ? {} : { subjects: wireSubjects(subjects) }),
  });
  return [
    ...aggregated(
      facts.clusterRoles.map((fact) =>
        object('ClusterRole', fact, {
          ...(fact.aggregate === undefined
            ? {}
            : {
                aggregationRule: {
                  clusterRoleSelectors: fact.aggregate.map((labels) => ({
                    matchLabels: translateKeys(labels),
                  })),
                },
              }),
          rules: rules(fact),
        }),
      ),
    ),
    ...facts.roles.map((fact) => object('Role', fact, { rules: rules(fact) })),
    ...facts.clusterRoleBindings.map((fact) =>
      object('ClusterRoleBinding', fact, bindingBody('ClusterRole', fact.role, fact.subjects)),
    ),
    ...facts.roles.flatMap((fact) =>
      fact.subjects === undefined
        ? []
        : [object('RoleBinding', fact, bindingBody('Role', fact.name, fact.subjects))],
    ),
  ];
}
