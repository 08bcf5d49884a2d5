/** Scores of nodes and their order. */
import { describe, expect, test } from 'vitest';
import { selectorRequirements } from '#api/meta/selectors.ts';
import type { NodeInfo } from '../fleet/model.ts';
import { fleetOf, HOST, nodeObject, type PodOptions, pod, ZONE } from '../scheduler.fixture.ts';
import { imageLocality } from './images.ts';
import { preferredNodes } from './node-affinity.ts';
import { preferredPods } from './pod-affinity.ts';
import { balancedAllocation, leastAllocated } from './resources.ts';
import type { Scorer } from './score.ts';
import { preferredTaints } from './taints.ts';
import { preferredSpread } from './topology-spread.ts';

type Fleet = ReturnType<typeof fleetOf>;

const scoresOf = (scorer: Scorer, options: PodOptions, fleet: Fleet): readonly number[] | undefined => {
  const nodes: readonly NodeInfo[] = fleet.nodes;
  const scores = scorer.score(pod('new', options), nodes, fleet);
  return scores === undefined ? undefined : [...scores];
};

const n1 = nodeObject('n1', { labels: { [ZONE]: 'a' } });
const n2 = nodeObject('n2', { labels: { [ZONE]: 'b' } });
const labelled = (app: string, options: PodOptions = {}): PodOptions => ({
  metadata: { namespace: 'default', labels: { app } },
  ...options,
});

/** With pods on the first node. */
function fleetWith(options: readonly PodOptions[], nodes = [n1, n2]): Fleet {
  const fleet = fleetOf(nodes);
  for (const [index, each] of options.entries()) fleet.addPod(pod(`p${index}`, each), 'n1');
  return fleet;
}

describe('leastAllocated', () => {
  test('is the mean of free CPU and memory', () => {
    const fleet = fleetWith([{ cpu: '1', memory: '2Gi' }]);
    expect(scoresOf(leastAllocated, { cpu: '1', memory: '2Gi' }, fleet)).toEqual([50, 75]);
  });

  test('counts a minimum for pods without requests', () => {
    const fleet = fleetWith([{}, {}, {}]);
    const [used = 0, free = 0] = scoresOf(leastAllocated, {}, fleet) ?? [];
    expect(used).toBeLessThan(free);
  });
});

describe('balancedAllocation', () => {
  test('prefers that CPU and memory are used alike', () => {
    const fleet = fleetWith([{ cpu: '2' }]);
    expect(scoresOf(balancedAllocation, { memory: '4Gi' }, fleet)).toEqual([100, 75]);
  });
});

describe('imageLocality', () => {
  const image = (megabytes: number): object => ({
    images: [{ names: ['app:latest'], sizeBytes: megabytes * 1024 * 1024 }],
  });

  test('is silent where no node has the image', () => {
    expect(scoresOf(imageLocality, {}, fleetOf([n1, n2]))).toBeUndefined();
  });

  test('prefers the node that has it, the more so the more nodes do', () => {
    expect(scoresOf(imageLocality, {}, fleetOf([nodeObject('n1', image(1000)), n2]))).toEqual([48, 0]);
    const both = fleetOf([nodeObject('n1', image(1000)), nodeObject('n2', image(1000))]);
    expect(scoresOf(imageLocality, {}, both)).toEqual([100, 100]);
  });
});

describe('preferredNodes', () => {
  const prefer = (weight: number, zone: string): object => ({
    weight,
    preference: { matchExpressions: [{ key: ZONE, operator: 'In', values: [zone] }] },
  });
  const wish = (...terms: object[]): PodOptions => ({
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: terms as never } },
  });

  test('adds the weights and scales them', () => {
    const options = wish(prefer(10, 'a'), prefer(30, 'b'));
    expect(scoresOf(preferredNodes, options, fleetOf([n1, n2]))).toEqual([33, 100]);
    expect(scoresOf(preferredNodes, {}, fleetOf([n1, n2]))).toBeUndefined();
  });
});

describe('preferredTaints', () => {
  test('counts untolerated taints that only state a preference', () => {
    const taints = ['x', 'y'].map((key) => ({ key, effect: 'PreferNoSchedule' as const }));
    const fleet = fleetOf([nodeObject('n1', { spec: { taints } }), n2]);
    expect(scoresOf(preferredTaints, {}, fleet)).toEqual([0, 100]);
    const tolerations = taints.map(({ key }) => ({ key, operator: 'Exists' as const }));
    expect(scoresOf(preferredTaints, { tolerations }, fleet)).toBeUndefined();
  });
});

describe('preferredPods', () => {
  const term = { labelSelector: { matchLabels: { app: 'x' } }, topologyKey: ZONE };
  const preferred = {
    preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 5, podAffinityTerm: term }],
  };

  test.each<[string, PodOptions, PodOptions, readonly number[] | undefined]>([
    ['near pods that it likes', { affinity: { podAffinity: preferred } }, labelled('x'), [100, 0]],
    [
      'far from those that it does not',
      { affinity: { podAntiAffinity: preferred } },
      labelled('x'),
      [0, 100],
    ],
    ['near pods that like it', labelled('x'), { affinity: { podAffinity: preferred } }, [100, 0]],
    ['far from those that do not', labelled('x'), { affinity: { podAntiAffinity: preferred } }, [0, 100]],
    [
      'near pods that need it',
      labelled('x'),
      { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
      [100, 0],
    ],
    ['wherever, for all others', labelled('y'), labelled('x'), undefined],
  ])('is %s', (_, options, there, scores) => {
    expect(scoresOf(preferredPods, options, fleetWith([there]))).toEqual(scores);
  });
});

describe('preferredSpread', () => {
  const soft = (topologyKey: string): PodOptions =>
    labelled('x', {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey,
          whenUnsatisfiable: 'ScheduleAnyway',
          labelSelector: { matchLabels: { app: 'x' } },
        },
      ],
    });

  test('prefers places with fewer pods', () => {
    const fleet = fleetWith([labelled('x'), labelled('x'), labelled('y')]);
    expect(scoresOf(preferredSpread, soft(ZONE), fleet)).toEqual([0, 100]);
    expect(scoresOf(preferredSpread, soft(HOST), fleet)).toEqual([0, 100]);
  });

  test('takes nodes without the label last', () => {
    const fleet = fleetWith([labelled('x')], [nodeObject('n0'), n1]);
    expect(scoresOf(preferredSpread, soft(ZONE), fleet)).toEqual([0, 100]);
  });

  test('spreads pods of a service by default, but not those with their own constraints', () => {
    const fleet = fleetOf([n1, n2], {
      spreadSelector: () => selectorRequirements({ matchLabels: { app: 'x' } }),
    });
    fleet.addPod(pod('p', labelled('x')), 'n1');
    const [near = 0, far = 0] = scoresOf(preferredSpread, labelled('x'), fleet) ?? [];
    expect(near).toBeLessThan(far);
    const [constraint] = soft(ZONE).topologySpreadConstraints ?? [];
    const hard = { ...constraint, whenUnsatisfiable: 'DoNotSchedule' };
    const options = { ...soft(ZONE), topologySpreadConstraints: [hard as never] };
    expect(scoresOf(preferredSpread, options, fleet)).toBeUndefined();
  });
});
