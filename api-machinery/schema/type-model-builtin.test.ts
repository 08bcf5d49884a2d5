import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '../vocabulary.ts';
import resources from './data/api-resources.json' with { type: 'json' };
import type { TypeNode } from './type-model.ts';
import { typeModelOf } from './type-model-builtin.ts';

const { plat, kubernetes } = VOCABULARIES;

const typeRefs: readonly string[] = resources.resources.map(
  ({ group, version, kind }) => `${group === '' ? 'core' : group}/${version}.${kind}`,
);

/** Returns the node at a path; `[]` descends into a list's or map's element. */
function at(typeRef: string, path: string, vocabulary = plat): TypeNode | undefined {
  let node = typeModelOf(typeRef, vocabulary).root as TypeNode | undefined;
  for (const step of path === '' ? [] : path.split('.')) {
    if (step === '[]') node = node?.kind === 'list' || node?.kind === 'map' ? node.element : undefined;
    else node = node?.kind === 'struct' ? node.member(step)?.node : undefined;
    if (node === undefined) return undefined;
  }
  return node;
}

describe('typeModelOf', () => {
  test.each([
    ['core/v1.Pod', 'spec.containers', { kind: 'list', listType: 'map', mapKeys: ['name'], keyDefaults: {} }],
    [
      'core/v1.Pod',
      'spec.containers.[].ports',
      {
        kind: 'list',
        listType: 'map',
        mapKeys: ['containerPort', 'protocol'],
        keyDefaults: { protocol: 'TCP' },
      },
    ],
    ['core/v1.Service', 'spec.ports', { mapKeys: ['port', 'protocol'], keyDefaults: { protocol: 'TCP' } }],
    ['core/v1.Pod', 'spec.containers.[].args', { kind: 'list', listType: 'atomic', mapKeys: [] }],
    ['core/v1.Pod', 'metadata.finalizers', { kind: 'list', listType: 'set' }],
    ['core/v1.Pod', 'metadata.ownerReferences', { listType: 'map', mapKeys: ['uid'] }],
    ['core/v1.Pod', 'metadata.labels', { kind: 'map', mapType: 'granular', element: { kind: 'scalar' } }],
    ['core/v1.Pod', 'spec.nodeSelector', { kind: 'map', mapType: 'atomic' }],
    ['apps/v1.Deployment', 'spec.selector', { kind: 'struct', structType: 'atomic' }],
    ['apps/v1.Deployment', 'spec.template', { kind: 'struct', structType: 'granular' }],
    ['core/v1.Pod', 'spec.containers.[].resources.limits', { kind: 'map', element: { kind: 'scalar' } }],
    ['apps/v1.ControllerRevision', 'data', { kind: 'map', mapType: 'atomic' }],
    ['core/v1.Pod', 'kind', { kind: 'scalar' }],
  ])('%s %s', (typeRef, path, expected) => {
    expect(at(typeRef, path)).toMatchObject(expected);
  });

  it('has no member that the type does not have', () => {
    expect(at('core/v1.Pod', 'spec.nope')).toBeUndefined();
    expect(at('core/v1.Pod', 'spec.constructor')).toBeUndefined();
  });

  it('hands on the directives of strategic merge', () => {
    const spec = at('core/v1.Pod', 'spec');
    const member = spec?.kind === 'struct' ? spec.member('volumes') : undefined;
    expect(member).toMatchObject({ patchStrategy: 'merge,retainKeys', patchMergeKey: 'name' });
  });

  it('lists inline members in their place, and the type members first', () => {
    const volume = at('core/v1.Pod', 'spec.volumes.[]');
    expect(volume?.kind === 'struct' && volume.members.slice(0, 3)).toEqual(['name', 'hostPath', 'emptyDir']);
    const root = typeModelOf('core/v1.Pod', plat).root;
    expect(root.kind === 'struct' && root.members).toEqual([
      'kind',
      'apiVersion',
      'metadata',
      'spec',
      'status',
    ]);
  });

  it('uses the requested vocabulary', () => {
    const info = (name: 'plat' | 'kubernetes'): TypeNode | undefined =>
      at('core/v1.Node', 'status.nodeInfo', VOCABULARIES[name]);
    const members = [info('plat'), info('kubernetes')].map((node) =>
      node?.kind === 'struct' ? node.members[6] : '',
    );
    expect(members[0]).not.toBe(members[1]);
    expect(members[0]).toContain('Version');
  });

  it('follows types that contain themselves', () => {
    const schema = `apiextensions.${plat.apiGroupDomain}/v1.JSONSchemaProps`;
    expect(at(schema, 'properties.[].properties.[].not.type', kubernetes)).toEqual({ kind: 'scalar' });
    expect(at(schema, 'properties.[].items')).toEqual({ kind: 'untyped' });
  });

  it('makes every member of every type', () => {
    const missing: string[] = [];
    let members = 0;
    const seen = new Set<TypeNode>();
    const visit = (node: TypeNode): void => {
      if (seen.has(node)) return;
      seen.add(node);
      if (node.kind === 'list' || node.kind === 'map') visit(node.element);
      if (node.kind === 'list' && node.listType === 'map' && node.mapKeys.length === 0) missing.push('keys');
      if (node.kind !== 'struct') return;
      for (const name of node.members) {
        members += 1;
        const member = node.member(name);
        if (member === undefined) missing.push(name);
        else visit(member.node);
      }
    };
    for (const typeRef of typeRefs) visit(typeModelOf(typeRef, kubernetes).root);
    expect(missing).toEqual([]);
    expect(members).toBeGreaterThan(1000);
  });
});
