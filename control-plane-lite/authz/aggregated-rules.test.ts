import { describe, expect, test } from 'vitest';
import type { ClusterRole, PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import { aggregatedRules } from './aggregated-rules.ts';

const rule = (verb: string): PolicyRule => ({ verbs: [verb], apiGroups: [''], resources: ['pods'] });
const part = (
  name: string,
  verbs: readonly string[],
  labels: Record<string, string> = { to: 'all' },
): ClusterRole => ({
  metadata: { name, labels },
  rules: verbs.map(rule),
});
const whole = (...selectors: readonly Record<string, string>[]): ClusterRole => ({
  metadata: { name: 'whole', labels: { to: 'all' } },
  aggregationRule: { clusterRoleSelectors: selectors.map((matchLabels) => ({ matchLabels })) },
  rules: [rule('own')],
});
const verbsOf = (role: ClusterRole, all: readonly ClusterRole[]): readonly string[] | undefined =>
  aggregatedRules(role, [...all, role])?.flatMap(({ verbs }) => verbs);

describe('aggregatedRules', () => {
  test('has each rule once, in the order of selectors and roles, and none of its own', () => {
    const roles = [
      part('a', ['get', 'list']),
      part('b', ['list', 'watch']),
      part('c', ['patch'], { to: 'some' }),
    ];
    expect(verbsOf(whole({ to: 'all' }), roles)).toEqual(['get', 'list', 'watch']);
    expect(verbsOf(whole({ to: 'some' }, { to: 'all' }), roles)).toEqual(['patch', 'get', 'list', 'watch']);
  });

  test('is empty where nothing is selected', () => {
    expect(verbsOf(whole({ to: 'none' }), [part('a', ['get'])])).toEqual([]);
  });

  test('leaves roles alone that aggregate nothing', () => {
    expect(verbsOf(part('a', ['get']), [])).toBeUndefined();
  });
});
