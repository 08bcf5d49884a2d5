import { describe, expect, test } from 'vitest';
import type { PodSpec, Taint } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { cachedOf, podOf } from '../workloads-kit/kit.fixture.ts';
import { affinityFor, daemonTolerations, decideEligibility, targetNode } from './pods.ts';

const { domain } = VOCABULARIES.plat;
const SPEC: PodSpec = { containers: [] };
const taint = (key: string, effect: Taint['effect']): Taint => ({ key, effect });
const requires = (key: string, value: string): PodSpec => ({
  ...SPEC,
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: [value] }] }],
      },
    },
  },
});

describe('decideEligibility', () => {
  test.each<[string, PodSpec, readonly Taint[], boolean, boolean]>([
    ['any node', SPEC, [], true, true],
    ['the node by name', { ...SPEC, nodeName: 'a' }, [], true, true],
    ['another node by name', { ...SPEC, nodeName: 'b' }, [], false, false],
    ['a label that it has', { ...SPEC, nodeSelector: { disk: 'ssd' } }, [], true, true],
    ['a label that it hasn’t', { ...SPEC, nodeSelector: { disk: 'hdd' } }, [], false, false],
    ['an affinity that it meets', requires('disk', 'ssd'), [], true, true],
    ['an affinity that it doesn’t meet', requires('disk', 'hdd'), [], false, false],
    ['a taint against new pods', SPEC, [taint('x', 'NoSchedule')], false, true],
    ['a taint against all pods', SPEC, [taint('x', 'NoExecute')], false, false],
    ['a taint with effect PreferNoSchedule', SPEC, [taint('x', 'PreferNoSchedule')], true, true],
    [
      'the tolerations of every daemon',
      SPEC,
      [taint(`node.${domain}/unschedulable`, 'NoSchedule')],
      true,
      true,
    ],
    [
      'a taint that is tolerated',
      { ...SPEC, tolerations: [{ key: 'x', operator: 'Exists' }] },
      [taint('x', 'NoExecute')],
      true,
      true,
    ],
  ])('%s', (_, spec, taints, starts, stays) => {
    const node = { name: 'a', labels: { disk: 'ssd' }, taints };
    const tolerations = daemonTolerations(spec, VOCABULARIES.plat);
    expect(decideEligibility(spec, tolerations, node)).toEqual({ starts, stays });
  });
});

test('pods on the host network tolerate an unavailable network', () => {
  const keys = (hostNetwork: boolean): readonly unknown[] =>
    daemonTolerations({ hostNetwork }, VOCABULARIES.plat).map(({ key }) => key);
  expect(keys(true)).toEqual([...keys(false), `node.${domain}/network-unavailable`]);
});

test('an existing toleration is not added twice', () => {
  const own = { key: `node.${domain}/not-ready`, operator: 'Exists', effect: 'NoExecute' } as const;
  expect(daemonTolerations({ tolerations: [own] }, VOCABULARIES.plat)).toHaveLength(6);
});

describe('affinityFor', () => {
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: ['n'] }];

  test('names the node', () => {
    expect(affinityFor(undefined, 'n')).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchFields }] },
      },
    });
  });

  test('other requirements stay', () => {
    const { affinity } = requires('disk', 'ssd');
    expect(affinityFor({ ...affinity, podAffinity: {} }, 'n')).toEqual({
      podAffinity: {},
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }], matchFields },
          ],
        },
      },
    });
  });

  test('the node name can be read back', () => {
    const affinity = affinityFor(undefined, 'n');
    const metadata = { name: 'p' };
    const cached = cachedOf({ apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [], affinity } });
    expect(targetNode(podOf('p', { nodeName: '', cached }))).toBe('n');
    expect(targetNode(podOf('p', { nodeName: 'm', cached }))).toBe('m');
  });
});
