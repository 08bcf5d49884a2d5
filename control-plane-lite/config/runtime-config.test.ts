import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Resource } from '../resources/contract.ts';
import { builtinFacts } from '../resources/facts.ts';
import { selectServed } from './runtime-config.ts';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only names are looked at
const all = builtinFacts(VOCABULARIES.plat).map(({ info }) => ({ info }) as unknown as Resource);
const served = (...given: readonly string[]): ReadonlySet<string> =>
  new Set(selectServed(all, given).map(({ info }) => `${info.group}/${info.version}/${info.plural}`));

describe('selectServed', () => {
  test('serves everything by default', () => {
    expect(selectServed(all, [])).toHaveLength(all.length);
  });
  test.each<[string, readonly string[], readonly string[], readonly string[]]>([
    [
      'a version off (9.2)',
      ['batch/v1=false'],
      ['apps/v1/deployments'],
      ['batch/v1/jobs', 'batch/v1/cronjobs'],
    ],
    ['a resource off', ['apps/v1/deployments=false'], ['apps/v1/replicasets'], ['apps/v1/deployments']],
    [
      'a resource on in a version that is off',
      ['apps/v1=false', 'apps/v1/deployments'],
      ['apps/v1/deployments'],
      ['apps/v1/replicasets'],
    ],
    ['all off but one', ['api/all=false', 'v1=true'], ['/v1/pods'], ['apps/v1/deployments']],
    [
      'beta off',
      ['api/beta=false'],
      ['policy/v1/poddisruptionbudgets'],
      ['policy/v1beta1/poddisruptionbudgets'],
    ],
    ['the core group by its path', ['api/v1=false'], ['apps/v1/deployments'], ['/v1/pods']],
    ['an unknown version off', ['batch/v2alpha1=false'], ['batch/v1/jobs'], []],
  ])('%s', (_, given, there, gone) => {
    const found = served(...given);
    expect(there.filter((name) => !found.has(name))).toEqual([]);
    expect(gone.filter((name) => found.has(name))).toEqual([]);
  });
  test.each(['batch/v1=maybe', '=true', 'batch/v9', 'a=b=c'])('rejects %s', (text) => {
    expect(() => served(text)).toThrow(/--runtime-config/);
  });
});
