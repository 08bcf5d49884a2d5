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
    [
      'cronjobs',
      'batch/v1beta1 CronJob is deprecated in v1.21+, unavailable in v1.25+; use batch/v1 CronJob',
    ],
    [
      'endpointslices',
      `discovery.${apiGroupDomain}/v1beta1 EndpointSlice is deprecated in v1.21+, unavailable in v1.25+; use discovery.${apiGroupDomain}/v1 EndpointSlice`,
    ],
    [
      'runtimeclasses',
      `node.${apiGroupDomain}/v1beta1 RuntimeClass is deprecated in v1.22+, unavailable in v1.25+`,
    ],
    [
      'flowschemas',
      `flowcontrol.apiserver.${apiGroupDomain}/v1beta1 FlowSchema is deprecated in v1.23+, unavailable in v1.26+; use flowcontrol.apiserver.${apiGroupDomain}/v1beta2 FlowSchema`,
    ],
  ])('%s', (resource, expected) => {
    const found = deprecations(VOCABULARIES.kubernetes).filter((entry) => entry.resource === resource);
    expect(found.map(deprecationWarning)).toEqual([expected]);
  });

  it('has every beta version that is served, but those that last', () => {
    const named = new Set(
      deprecations(VOCABULARIES.plat).map(
        ({ group, version, resource }) => `${group}/${version}/${resource}`,
      ),
    );
    const betas = builtinFacts(VOCABULARIES.plat)
      .map(({ info }) => `${info.group}/${info.version}/${info.plural}`)
      .filter((name) => /\/v\d+beta\d+\//.test(name));
    const lasting = betas.filter((name) => !named.has(name) && !name.startsWith('metrics.'));
    expect(lasting.every((name) => name.includes('/v1beta2/'))).toBe(true);
    expect(betas.length).toBeGreaterThan(10);
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
