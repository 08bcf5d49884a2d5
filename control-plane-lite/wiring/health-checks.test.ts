import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { type HealthState, healthChecks } from './health-checks.ts';

const store = { currentRevision: () => Promise.resolve(1) };

/** Names of the checks that fail. */
async function failing(state: Partial<HealthState>): Promise<readonly string[]> {
  const all: HealthState = { cacheSynced: () => true, begun: () => true, aggregation: undefined, ...state };
  const names: string[] = [];
  for (const check of healthChecks({ store, vocabulary: VOCABULARIES.plat }, all)) {
    try {
      await check.check(AbortSignal.timeout(1000));
    } catch {
      names.push(check.name);
    }
  }
  return names;
}

const REGISTRATION = [
  'poststarthook/apiservice-registration-controller',
  'poststarthook/apiservice-status-available-controller',
  'poststarthook/plat-apiserver-autoregistration',
  'autoregister-completion',
  'poststarthook/apiservice-openapi-controller',
];

test.each<[string, Partial<HealthState>, readonly string[]]>([
  ['all is there', {}, []],
  [
    'objects of the start are missing',
    { begun: () => false },
    [
      'poststarthook/start-plat-apiserver-admission-initializer',
      'poststarthook/bootstrap-controller',
      'poststarthook/rbac/bootstrap-roles',
      'poststarthook/scheduling/bootstrap-system-priority-classes',
    ],
  ],
  [
    'the cache does not follow',
    { cacheSynced: () => false },
    [
      'informer-sync',
      'poststarthook/generic-apiserver-start-informers',
      'poststarthook/start-apiextensions-informers',
      'poststarthook/start-apiextensions-controllers',
      'poststarthook/crd-informer-synced',
    ],
  ],
  [
    'own groups are not registered',
    { aggregation: { trustPublished: () => true, registered: () => false } },
    REGISTRATION,
  ],
  [
    'nothing is published or registered',
    { aggregation: { trustPublished: () => false, registered: () => false } },
    ['poststarthook/start-cluster-authentication-info-controller', ...REGISTRATION],
  ],
])('%s', async (_, state, names) => {
  expect(await failing(state)).toEqual(names);
});
