import { array, assert, bigInt, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Container, Pod, PodSpec } from '#api/gen/core-v1.ts';
import type { Amounts } from './resource-fit.ts';
import { firstShortage, parseAmounts, podRequests, shortageRefusal, victimsFor } from './resource-fit.ts';

const asks = (
  name: string,
  requests: Readonly<Record<string, string>>,
  more: Partial<Container> = {},
): Container => ({
  name,
  resources: { requests },
  ...more,
});
const pod = (cpu: string, spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: `${cpu}-${spec.priority ?? 0}` },
  spec: { containers: [asks('c', { cpu })], ...spec },
});

const shortage = (wanted: Pod, others: readonly Pod[], allocatable: Amounts) => {
  const found = firstShortage(wanted, others, allocatable);
  return found === undefined ? undefined : shortageRefusal(found);
};

describe('podRequests', () => {
  test.each<[string, Partial<PodSpec>, object]>([
    [
      'containers together',
      { containers: [asks('a', { cpu: '1' }), asks('b', { cpu: '250m', memory: '1Ki' })] },
      { cpu: 1250, memory: 1024 },
    ],
    [
      'a large init container',
      { containers: [asks('a', { cpu: '1' })], initContainers: [asks('i', { cpu: '2' })] },
      { cpu: 2000 },
    ],
    [
      'sidecars beside what comes after them',
      {
        containers: [asks('a', { cpu: '1' })],
        initContainers: [asks('s', { cpu: '1' }, { restartPolicy: 'Always' }), asks('i', { cpu: '3' })],
      },
      { cpu: 4000 },
    ],
    ['the overhead', { containers: [asks('a', { cpu: '1' })], overhead: { cpu: '100m' } }, { cpu: 1100 }],
  ])('counts %s', (_, spec, expected) => {
    expect(podRequests(pod('0', spec))).toEqual(expected);
  });
});

describe('shortage', () => {
  test('counts every byte, whatever the amounts', () => {
    const bytes = bigInt(0n, 2n ** 61n);
    assert(
      property(bytes, array(bytes, { maxLength: 3 }), bigInt(-1n, 1n), (own, others, more) => {
        const of = (memory: bigint): Pod => ({ spec: { containers: [asks('c', { memory: `${memory}` })] } });
        const total = others.reduce((sum, one) => sum + one, own);
        const capacity = parseAmounts({ memory: `${total + more}` });
        const found = firstShortage(of(own), others.map(of), capacity);
        expect(found !== undefined).toBe(own > 0n && more < 0n);
      }),
    );
  });

  test('names the resource with its amounts', () => {
    const found = shortage(pod('1500m'), [pod('1')], { cpu: 2000 });
    expect(found?.reason).toBe('OutOfcpu');
    expect(found?.message).toContain('requested 1500, used 1000, capacity 2000');
  });

  test('reports nothing when everything fits exactly', () => {
    expect(shortage(pod('1'), [pod('1')], { cpu: 2000 })).toBeUndefined();
  });

  test('checks extended resources of the node, and ignores unknown ones', () => {
    const wants = pod('0', { containers: [asks('a', { 'example.com/gpu': '1' })] });
    expect(shortage(wants, [], { 'example.com/gpu': 0 })?.reason).toBe('OutOfexample.com/gpu');
    expect(shortage(wants, [], { cpu: 1 })).toBeUndefined();
  });
});

describe('victimsFor', () => {
  const critical = pod('1', { priority: 2_000_000_000 });
  const names = (pods: readonly Pod[] | undefined) => pods?.map(({ metadata }) => metadata?.name);

  test('preempts the least important pods, and no more than necessary', () => {
    const others = [pod('1', { priority: 5 }), pod('500m', { priority: 1 }), pod('600m', { priority: 2 })];
    expect(names(victimsFor(critical, others, { cpu: 2100 }, () => false))).toEqual(['500m-1', '600m-2']);
    expect(names(victimsFor(critical, others, { cpu: 2600 }, () => false))).toEqual(['500m-1']);
  });

  test('preempts critical pods for more critical ones, after all others', () => {
    const less = pod('1', { priority: 2_000_000_000 });
    const most = pod('1', { priority: 2_000_001_000 });
    expect(names(victimsFor(most, [less], { cpu: 1000 }, () => false))).toEqual(['1-2000000000']);
    expect(names(victimsFor(most, [less, pod('1')], { cpu: 2000 }, () => false))).toEqual(['1-0']);
    expect(victimsFor(less, [less], { cpu: 1000 }, () => false)).toBeUndefined();
  });

  test('preempts a pod when the maximum number is reached', () => {
    const others = [pod('0', { priority: 3 }), pod('0', { priority: 1 })];
    expect(shortage(critical, others, { cpu: 9000, pods: 2 })?.reason).toBe('OutOfpods');
    expect(names(victimsFor(critical, others, { cpu: 9000, pods: 2 }, () => false))).toEqual(['0-1']);
  });

  test('spares the protected and the critical', () => {
    const others = [pod('1', { priority: 2_000_000_001 }), pod('1')];
    expect(names(victimsFor(critical, others, { cpu: 2000 }, () => false))).toEqual(['1-0']);
    expect(victimsFor(critical, others, { cpu: 2000 }, () => true)).toBeUndefined();
  });
});
