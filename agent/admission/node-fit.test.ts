import { describe, expect, test } from 'vitest';
import type { Pod, PodSpec, Taint } from '#api/gen/core-v1.ts';
import { misplacement, type NodeTraits } from './node-fit.ts';

const evict: Taint = { key: 'broken', value: 'yes', effect: 'NoExecute' };
const node: NodeTraits = {
  name: 'n1',
  labels: { zone: 'a', cores: '8', 'test.io/os': 'linux' },
  taints: [],
  osLabel: 'test.io/os',
  identifiesOS: true,
};

const affinity = (
  key: string,
  operator: 'In' | 'NotIn' | 'Gt' | 'Exists' | 'DoesNotExist',
  ...values: string[]
) => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }],
      },
    },
  },
});

describe('misplacement', () => {
  test.each<[string, Partial<PodSpec>, Partial<NodeTraits>, string | undefined]>([
    ['admits a pod without requests', {}, {}, undefined],
    ['takes one that selects the node', { nodeSelector: { zone: 'a' } }, {}, undefined],
    ['rejects one that selects others', { nodeSelector: { zone: 'b' } }, {}, 'NodeAffinity'],
    ['takes affinity that holds', affinity('cores', 'Gt', '4'), {}, undefined],
    ['rejects affinity that does not', affinity('zone', 'NotIn', 'a'), {}, 'NodeAffinity'],
    ['rejects an absent label', affinity('gpu', 'Exists'), {}, 'NodeAffinity'],
    ['rejects another operating system', { os: { name: 'windows' } }, {}, 'PodOSNotSupported'],
    [
      'rejects a selector of another one',
      { nodeSelector: { 'test.io/os': 'windows' } },
      {},
      'PodOSSelectorNodeLabelDoesNotMatch',
    ],
    ['rejects what does not tolerate', {}, { taints: [evict] }, 'TaintToleration'],
    ['minds no other effect', {}, { taints: [{ ...evict, effect: 'NoSchedule' }] }, undefined],
    [
      'takes what tolerates by value',
      { tolerations: [{ key: 'broken', value: 'yes' }] },
      { taints: [evict] },
      undefined,
    ],
    [
      'rejects what tolerates another value',
      { tolerations: [{ key: 'broken', value: 'no' }] },
      { taints: [evict] },
      'TaintToleration',
    ],
    [
      'takes what tolerates everything',
      { tolerations: [{ operator: 'Exists' }] },
      { taints: [evict] },
      undefined,
    ],
  ])('%s', (_, spec, traits, reason) => {
    const pod = { spec: { containers: [], ...spec } };
    expect(misplacement(pod, { ...node, ...traits })?.reason).toBe(reason);
  });
});

test('the operating system of a pod counts with the feature gate IdentifyPodOS only', () => {
  const pod: Pod = { spec: { containers: [], os: { name: 'windows' } } };
  expect(misplacement(pod, node)?.reason).toBe('PodOSNotSupported');
  expect(misplacement(pod, { ...node, identifiesOS: false })).toBeUndefined();
});
