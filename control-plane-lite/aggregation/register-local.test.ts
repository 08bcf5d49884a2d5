import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { customResource } from '../discovery/discovery.fixture.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { ApiObject } from '../resources/contract.ts';
import { automanagedLabel, localApiObject, localApis } from './automanaged.ts';
import { decideLocal, type Step } from './register-local.ts';

const { plat, kubernetes } = VOCABULARIES;
const widgets = customResource({
  group: 'example.com',
  version: 'v1beta1',
  plural: 'widgets',
  kind: 'Widget',
});
const METRICS = `v1beta1.metrics.${kubernetes.apiGroupDomain}`;
const all = (vocabulary = plat): ReturnType<typeof localApis> =>
  localApis([...builtinResources({ vocabulary, gates: new Set(), kinds: {} }), widgets], vocabulary);

describe('localApis', () => {
  const priorities = (name: string): readonly unknown[] => {
    const api = all(kubernetes).get(name);
    return [api?.care, api?.spec.groupPriorityMinimum, api?.spec.versionPriority];
  };

  test.each([
    ['v1.', ['onstart', 18_000, 1]],
    ['v1.apps', ['onstart', 17_800, 15]],
    ['v2.autoscaling', ['onstart', 17_500, 30]],
    ['v1beta1.policy', ['onstart', 17_100, 9]],
    [`v1beta2.flowcontrol.apiserver.${kubernetes.apiGroupDomain}`, ['onstart', 16_100, 12]],
    ['v1beta1.example.com', ['true', 1000, 100]],
    // The priorities in the manifest of upstream's metrics server, so that applying it causes no conflict.
    [METRICS, ['true', 100, 100]],
  ])('%s', (name, expected) => expect(priorities(name)).toEqual(expected));

  test('none for the group that they are of themselves', () => {
    expect(all().has(`v1.apiregistration.${plat.apiGroupDomain}`)).toBe(false);
  });
});

describe('decideLocal', () => {
  const label = automanagedLabel(plat);
  const apps = all().get('v1.apps');
  const custom = all().get('v1beta1.example.com');
  if (apps === undefined || custom === undefined) throw new Error('both are there');
  const metrics = all().get(`v1beta1.metrics.${plat.apiGroupDomain}`);
  if (metrics === undefined) throw new Error('the metrics API is there');
  const foreign: ApiObject = { apiVersion: '', kind: '', metadata: { name: 'v1.apps' }, spec: {} };
  const object = (of = apps): ApiObject => localApiObject(of, plat);
  const changed = (of = apps): ApiObject => ({ ...object(of), spec: { ...of.spec, versionPriority: 7 } });

  const service = { namespace: plat.systemNamespace, name: 'metrics-server' };
  const replaced: ApiObject = { ...object(metrics), spec: { ...metrics.spec, service } };

  test.each<[string, typeof apps | undefined, ApiObject | undefined, boolean, Step]>([
    ['makes what is missing at the start', apps, undefined, false, 'create'],
    ['does not bring back what was removed', apps, undefined, true, 'nothing'],
    ['brings back that of a custom resource', custom, undefined, true, 'create'],
    ['leaves what is right', apps, object(), false, 'nothing'],
    ['sets right at the start', apps, changed(), false, 'update'],
    ['leaves an administrator’s change', apps, changed(), true, 'nothing'],
    ['sets right that of a custom resource', custom, changed(custom), true, 'update'],
    ['leaves what others made', apps, foreign, false, 'nothing'],
    ['leaves what others made of what is gone', undefined, foreign, false, 'nothing'],
    ['removes what is no longer served', undefined, object(), false, 'delete'],
    ['removes that of a custom resource', undefined, object(custom), true, 'delete'],
    ['brings back the metrics API', metrics, undefined, true, 'create'],
    ['sets right the metrics API', metrics, changed(metrics), true, 'update'],
    ['leaves another server of the metrics API', metrics, replaced, false, 'nothing'],
    ['leaves it where the metrics API is not served', undefined, replaced, false, 'nothing'],
    [
      'takes no other group from this server',
      apps,
      { ...object(), spec: { ...apps.spec, service } },
      false,
      'update',
    ],
    ['has nothing to do', undefined, undefined, true, 'nothing'],
  ])('%s', (_, desired, current, settled, step) =>
    expect(decideLocal(desired, current, label, settled)).toBe(step),
  );
});
