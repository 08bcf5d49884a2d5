import { describe, expect, test } from 'vitest';
import type { ClusterRole, ClusterRoleBinding } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES, type VocabularyName } from '#api/vocabulary.ts';
import { typed } from '../resources/view.ts';
import { bootstrapPolicy } from './bootstrap.ts';

const names: readonly VocabularyName[] = ['plat', 'kubernetes'];

describe.each(names)('bootstrapPolicy in %s', (name) => {
  const vocabulary = VOCABULARIES[name];
  const other = VOCABULARIES[name === 'plat' ? 'kubernetes' : 'plat'];
  const objects = bootstrapPolicy(vocabulary);

  test('has no word of the other vocabulary', () => {
    const text = JSON.stringify(objects);
    for (const word of [
      other.apiGroupDomain,
      other.systemNamespace,
      other.agentComponent,
      `:${other.componentPrefix}-`,
    ]) {
      expect(text).not.toContain(word);
    }
  });

  test('names every role that is bound', () => {
    const roles = new Set(
      objects.filter(({ kind }) => kind === 'ClusterRole').map(({ metadata }) => metadata.name),
    );
    const bound = objects
      .filter(({ kind }) => kind === 'ClusterRoleBinding')
      .map((object) => typed<ClusterRoleBinding>(object).roleRef.name);
    expect(bound.length).toBeGreaterThan(10);
    expect(bound.filter((role) => !roles.has(role))).toEqual([]);
  });

  // CVE-2021-25740: an address of another namespace in Endpoints leads clients past its network policies.
  test('lets no user write the addresses of services', () => {
    const writers = objects
      .filter(({ kind }) => kind === 'ClusterRole')
      .filter(({ metadata }) => !/^system:(?!aggregate-to-)/.test(metadata.name ?? ''))
      .filter((object) =>
        (typed<ClusterRole>(object).rules ?? []).some(
          ({ resources = [], verbs }) =>
            resources.some((resource) => resource === 'endpoints' || resource === 'endpointslices') &&
            verbs.some((verb) => !['get', 'list', 'watch'].includes(verb)),
        ),
      );
    expect(writers.map(({ metadata }) => metadata.name)).toEqual([]);
  });

  test('aggregates roles that are there', () => {
    const roles = objects.filter(({ kind }) => kind === 'ClusterRole');
    const wanted = roles.flatMap((object) =>
      (typed<ClusterRole>(object).aggregationRule?.clusterRoleSelectors ?? []).map(
        ({ matchLabels }) => matchLabels ?? {},
      ),
    );
    expect(wanted).toHaveLength(3);
    for (const labels of wanted) {
      const [key = ''] = Object.keys(labels);
      expect(roles.some(({ metadata }) => metadata.labels?.[key] === labels[key])).toBe(true);
    }
  });
});
