/** Roles of the controllers: they cover the declarations, and upstream's roles of release 1.24. */
import { describe, expect, test } from 'vitest';
import type { ClusterRole, ClusterRoleBinding, PolicyRule, Role } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { bootstrapPolicy } from '../../authz/bootstrap.ts';
import { uncovered } from '../../authz/rules.ts';
import { typed } from '../../resources/view.ts';
import { CONTROLLERS, PERMANENT_CONTROLLERS } from '../table.ts';
import { declaredRules } from './declared-rules.ts';
import { controllerRoles, controllersWithRole } from './roles.ts';
import { UPSTREAM_ROLES } from './upstream.fixture.ts';

const PREFIX = 'system:controller:';

/** Controllers for which upstream has no cluster role. */
const WITHOUT_ROLE: Readonly<Record<string, string>> = {
  bootstrapsigner: 'has roles in two namespaces',
  expiry: 'upstream has no such controller',
  'local-provisioner': 'upstream has no such controller',
  'serviceaccount-token': 'upstream runs it with the credentials of the controller manager',
  tokencleaner: 'has a role in a namespace',
};

/** Rules beyond upstream's. Reads: upstream's controllers read from caches that their program fills with its own
 *  credentials. Updates: upstream patches the same fields. */
const BEYOND_UPSTREAM: Readonly<Record<string, readonly string[]>> = {
  'certificate-controller': ['list nodes', 'watch nodes'],
  'daemon-set-controller': ['update pods'],
  'disruption-controller': ['list pods', 'watch pods'],
  'endpoint-controller': ['watch endpoints'],
  'endpointslice-controller': ['watch endpointslices'],
  'endpointslicemirroring-controller': ['watch endpointslices'],
  'expand-controller': ['update persistentvolumeclaims'],
  'horizontal-pod-autoscaler': ['watch pods'],
  'job-controller': ['update pods'],
  'node-controller': ['list leases', 'watch leases', 'watch nodes', 'watch pods'],
  'pod-garbage-collector': ['watch nodes'],
  'replicaset-controller': ['update pods'],
  'replication-controller': ['update pods'],
  'root-ca-cert-publisher': ['list configmaps', 'list namespaces', 'watch configmaps', 'watch namespaces'],
  'service-account-controller': [
    'list namespaces',
    'list serviceaccounts',
    'watch namespaces',
    'watch serviceaccounts',
  ],
  'statefulset-controller': [
    'list persistentvolumeclaims',
    'update persistentvolumeclaims',
    'watch persistentvolumeclaims',
  ],
};

const roles = new Map(controllerRoles().map(({ name, rules }) => [name, rules]));
const rulesOf = (role: string): readonly PolicyRule[] => roles.get(role) ?? [];
const display = ({ verbs, resources = [] }: PolicyRule): string =>
  `${verbs.join(',')} ${resources.join(',')}`;

test('upstream has the same roles', () => {
  expect([...roles.keys()].toSorted()).toEqual(Object.keys(UPSTREAM_ROLES).toSorted());
  expect(roles.size).toBe(31);
});

describe("each of upstream's controllers is authorized by its role:", () => {
  test.each(Object.entries(UPSTREAM_ROLES))('%s', (role, needed) => {
    expect(uncovered(rulesOf(role), needed)).toEqual([]);
  });
});

describe("a role exceeds upstream's only as listed:", () => {
  test.each(Object.entries(UPSTREAM_ROLES))('%s', (role, granted) => {
    const further = uncovered(granted, rulesOf(role));
    // A list shows all that a get shows.
    const known = further.filter(({ verbs }) => !verbs.includes('get'));
    expect(known.map(display).toSorted()).toEqual(BEYOND_UPSTREAM[role] ?? []);
  });
});

describe('a role covers the declarations of its controllers:', () => {
  test.each(
    CONTROLLERS.filter(({ name }) => controllersWithRole().has(name)).map((row) => [row.name, row] as const),
  )('%s', (name, controller) => {
    expect(uncovered(rulesOf(controllersWithRole().get(name) ?? ''), declaredRules(controller))).toEqual([]);
  });

  test('every other controller is listed with a reason', () => {
    const names = [...CONTROLLERS, ...PERMANENT_CONTROLLERS].map(({ name }) => name);
    const without = names.filter((name) => !controllersWithRole().has(name));
    expect(without.toSorted()).toEqual(Object.keys(WITHOUT_ROLE).toSorted());
    expect([...controllersWithRole().keys()].filter((name) => !names.includes(name))).toEqual([]);
  });
});

/** Upstream leaves these to the tool that creates a cluster. */
const BEYOND_ROLES = ['create configmaps'];

describe.each<VocabularyName>(['plat', 'kubernetes'])('the policy in the vocabulary %s', (name) => {
  const vocabulary = VOCABULARIES[name];
  const policy = bootstrapPolicy(vocabulary, controllerRoles());

  test('binds each role to the account of its controller', () => {
    const bindings = policy
      .filter(({ kind, metadata }) => kind === 'ClusterRoleBinding' && metadata.name?.startsWith(PREFIX))
      .map(typed<ClusterRoleBinding>);
    expect(bindings).toHaveLength(roles.size);
    for (const { metadata, roleRef, subjects } of bindings) {
      expect(roleRef.name).toBe(metadata?.name);
      expect(subjects).toEqual([
        {
          kind: 'ServiceAccount',
          name: roleRef.name.slice(PREFIX.length),
          namespace: vocabulary.systemNamespace,
        },
      ]);
    }
  });

  test('has labels, annotations, groups and signers of the vocabulary', () => {
    const role = policy.find(({ metadata }) => metadata.name === `${PREFIX}certificate-controller`);
    expect(role?.metadata.labels).toEqual({ [vocabulary.labelBootstrapping]: 'rbac-defaults' });
    expect(role?.metadata.annotations).toEqual({ [vocabulary.annotationAutoUpdate]: 'true' });
    const rules = role === undefined ? [] : (typed<ClusterRole>(role).rules ?? []);
    expect(rules).toContainEqual({
      verbs: ['approve'],
      apiGroups: [`certificates.${vocabulary.apiGroupDomain}`],
      resources: ['signers'],
      resourceNames: [`${vocabulary.domain}/${vocabulary.nodeClientSigner}`],
    });
  });

  test.each(['bootstrapsigner', 'tokencleaner'])(
    'the roles in namespaces cover the declaration of %s',
    (controller) => {
      const row = CONTROLLERS.find((candidate) => candidate.name === controller);
      const rules = policy
        .filter(({ kind, metadata }) => kind === 'Role' && metadata.name === `${PREFIX}${row?.identity}`)
        .flatMap((role) => typed<Role>(role).rules ?? [])
        .map(({ verbs, apiGroups = [], resources = [] }) => ({ verbs, apiGroups, resources }));
      const missing = row === undefined ? [] : uncovered(rules, declaredRules(row));
      expect(missing.map(display)).toEqual(controller === 'bootstrapsigner' ? BEYOND_ROLES : []);
    },
  );
});
