import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { builtinFacts } from '../facts.ts';
import { deprecations, deprecationWarning } from './deprecations.ts';

describe('deprecations', () => {
  const { apiGroupDomain } = VOCABULARIES.kubernetes;
  test.each([
    ['componentstatuses', 'v1 ComponentStatus is deprecated in v1.19+'],
    [
      'podsecuritypolicies',
      'policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+',
    ],
    [
      'poddisruptionbudgets',
      'policy/v1beta1 PodDisruptionBudget is deprecated in v1.21+, unavailable in v1.25+; use policy/v1 PodDisruptionBudget',
    ],
    [
      'csistoragecapacities',
      `storage.${apiGroupDomain}/v1beta1 CSIStorageCapacity is deprecated in v1.24+, unavailable in v1.27+; use storage.${apiGroupDomain}/v1 CSIStorageCapacity`,
    ],
  ])('%s', (resource, expected) => {
    const found = deprecations(VOCABULARIES.kubernetes).filter((entry) => entry.resource === resource);
    expect(found.map(deprecationWarning)).toEqual([expected]);
  });

  it.each(['plat', 'kubernetes'] as const)('names resources that are served (%s)', (name) => {
    const served = new Set(
      builtinFacts(VOCABULARIES[name]).map(({ info }) => `${info.group}/${info.version}/${info.plural}`),
    );
    for (const { group, version, resource } of deprecations(VOCABULARIES[name])) {
      expect(served).toContain(`${group}/${version}/${resource}`);
    }
  });
});
