import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { builtinResources } from './builtin.ts';
import { createResourceRegistry, isKnown } from './registry.ts';

describe('isKnown', () => {
  const vocabulary = VOCABULARIES.plat;
  const registry = createResourceRegistry(builtinResources({ vocabulary, gates: new Set(), kinds: {} }));

  test.each([
    ['', 'v1', 'pods', '', true],
    ['', 'v1', 'pods', 'status', true],
    ['apps', 'v1', 'deployments', 'scale', true],
    ['', 'v1', 'pods', 'made-up', false],
    ['', 'v1', 'configmaps', 'status', false],
    ['', 'v1', 'made-up', '', false],
    ['', 'v9', 'pods', '', false],
    ['made-up', 'v1', 'pods', '', false],
  ])('of %s/%s %s/%s is %s', (group, version, resource, subresource, known) => {
    expect(isKnown(registry, { group, version, resource, subresource })).toBe(known);
  });
});
