import { describe, expect, test } from 'vitest';
import type { Pod, ResourceRequirements } from '#api/gen/core-v1.ts';
import { qosClass } from '#api/schema/qos-class.ts';
import { RESOURCES, testPod } from './pod.fixture.ts';
import {
  containerResources,
  oomScoreAdj,
  podAmounts,
  quotaOf,
  type ResourceSettings,
  sharesOf,
} from './resources.ts';

test.each([
  [0, 2n],
  [1, 2n],
  [2, 2n],
  [3, 3n],
  [100, 102n],
  [1000, 1024n],
  [1_000_000, 262_144n],
])('%d millicores are %d shares', (millicores, shares) => {
  expect(sharesOf(millicores)).toBe(shares);
});

test.each([
  [0, 100_000n, 0n],
  [1, 100_000n, 1000n],
  [10, 100_000n, 1000n],
  [11, 100_000n, 1100n],
  [1500, 100_000n, 150_000n],
  [500, 10_000n, 5000n],
])('%d millicores in periods of %d µs are %d µs', (millicores, period, quota) => {
  expect(quotaOf(millicores, period)).toBe(quota);
});

describe('containerResources', () => {
  const int64 = 2n ** 63n - 1n;
  test.each(['8Ei', '9E', '1e400'])('stays within the range of the protocol for %s of everything', (most) => {
    const resources = { limits: { cpu: most, memory: most, 'hugepages-2Mi': most } };
    const settings: ResourceSettings = { ...RESOURCES, cpuCFSQuota: true, swap: 'limited' };
    const converted = containerResources(testPod({}, { resources }), { resources }, settings);
    const pages = converted.hugepageLimits?.map(({ limit }) => limit) ?? [];
    for (const amount of [
      converted.memoryLimitInBytes,
      converted.memorySwapLimitInBytes,
      converted.cpuQuota,
      ...pages,
    ]) {
      expect(amount).toBeLessThanOrEqual(int64);
    }
    expect(converted.cpuQuota).toBeLessThan(2n ** 44n);
  });

  const of = (resources: ResourceRequirements, settings: Partial<ResourceSettings> = {}) =>
    containerResources(testPod({}, { resources }), { resources }, { ...RESOURCES, ...settings });

  test.each<[string, ResourceRequirements, Partial<ResourceSettings>, object]>([
    [
      'nothing requested',
      {},
      {},
      { cpuShares: 2n, cpuQuota: 0n, cpuPeriod: 100_000n, memoryLimitInBytes: 0n, oomScoreAdj: 1000n },
    ],
    [
      'shares from the request',
      { requests: { cpu: '250m' }, limits: { cpu: '1' } },
      {},
      { cpuShares: 256n, cpuQuota: 100_000n },
    ],
    ['shares from the limit', { limits: { cpu: '500m' } }, {}, { cpuShares: 512n, cpuQuota: 50_000n }],
    [
      'memory',
      { limits: { memory: '64Mi' } },
      {},
      { memoryLimitInBytes: 67_108_864n, memorySwapLimitInBytes: 0n },
    ],
    [
      'another period',
      { limits: { cpu: '500m' } },
      { cpuCFSQuotaPeriodMs: 10 },
      { cpuQuota: 5000n, cpuPeriod: 10_000n },
    ],
    ['no swap', { limits: { memory: '1Ki' } }, { swap: 'limited' }, { memorySwapLimitInBytes: 1024n }],
    ['unlimited swap', { limits: { memory: '1Ki' } }, { swap: 'unlimited' }, { memorySwapLimitInBytes: -1n }],
    [
      'huge pages, 0 for the sizes without a request',
      { limits: { 'hugepages-2Mi': '4Mi' } },
      { hugePageSizesBytes: [2 ** 21, 2 ** 30, 2 ** 16] },
      {
        hugepageLimits: [
          { pageSize: '2MB', limit: 4_194_304n },
          { pageSize: '1GB', limit: 0n },
          { pageSize: '64KB', limit: 0n },
        ],
      },
    ],
  ])('gives %s', (_, resources, settings, expected) => {
    expect(of(resources, settings)).toMatchObject(expected);
  });

  test('sets no quota when quotas are off', () => {
    expect(of({ limits: { cpu: '1' } }, { cpuCFSQuota: false })).not.toHaveProperty('cpuQuota');
  });
});

describe('qosClass', () => {
  const full = { cpu: '1', memory: '1Gi' };
  test.each<[string, ResourceRequirements | undefined, string]>([
    ['nothing', undefined, 'BestEffort'],
    ['zero', { requests: { cpu: '0' } }, 'BestEffort'],
    ['other resources only', { limits: { 'hugepages-2Mi': '2Mi' } }, 'BestEffort'],
    ['a request', { requests: { cpu: '1' } }, 'Burstable'],
    ['one limit', { limits: { cpu: '1' } }, 'Burstable'],
    ['limits', { limits: full }, 'Guaranteed'],
    [
      'equal requests in other words',
      { limits: full, requests: { cpu: '1000m', memory: '1024Mi' } },
      'Guaranteed',
    ],
    ['smaller requests', { limits: full, requests: { cpu: '500m', memory: '1Gi' } }, 'Burstable'],
  ])('of a container with %s', (_, resources, expected) => {
    expect(qosClass(testPod({}, resources === undefined ? {} : { resources }))).toBe(expected);
  });

  test('counts init containers', () => {
    const initContainers = [{ name: 'init' }];
    expect(qosClass(testPod({ initContainers }, { resources: { limits: full } }))).toBe('Burstable');
  });
});

describe('quality of service of memory', () => {
  const memoryQoS = { throttlingFactor: 0.8, allocatableBytes: 10_000 };
  test.each<[string, ResourceRequirements, Readonly<Record<string, string>> | undefined]>([
    ['a limit', { requests: { memory: '500' }, limits: { memory: '1000' } }, { min: '500', high: '800' }],
    ['no limit', { requests: { memory: '500' } }, { min: '500', high: '8000' }],
    ['nothing', {}, { high: '8000' }],
    ['its whole request', { requests: { memory: '900' }, limits: { memory: '1000' } }, { min: '900' }],
  ])('of a container with %s', (_, resources, files) => {
    const { unified } = containerResources(
      testPod({}, { resources }),
      { resources },
      { ...RESOURCES, memoryQoS },
    );
    const expected = Object.entries(files ?? {}).map(([name, text]) => [`memory.${name}`, text]);
    expect(unified).toEqual(Object.fromEntries(expected));
    expect(containerResources(testPod(), {}, RESOURCES)).not.toHaveProperty('unified');
  });
});

describe('oomScoreAdj', () => {
  const burstable = (memory: string): [Pod, ResourceRequirements] => {
    const resources = { requests: { memory } };
    return [testPod({}, { resources }), resources];
  };
  test.each([
    ['a small request', '1', 999],
    ['a tenth of the memory', '100M', 900],
    ['all of the memory', '1G', 3],
    ['more than the memory', '2G', 3],
  ])('of a burstable container with %s', (_, memory, expected) => {
    const [pod, resources] = burstable(memory);
    expect(oomScoreAdj(pod, { resources }, 1_000_000_000)).toBe(expected);
  });

  test('of the other classes', () => {
    const limits = { cpu: '1', memory: '1' };
    expect(oomScoreAdj(testPod({}, { resources: { limits } }), { resources: { limits } }, 1)).toBe(-997);
    expect(oomScoreAdj(testPod(), {}, 1)).toBe(1000);
    expect(oomScoreAdj(testPod({ priorityClassName: 'system-node-critical' }), {}, 1)).toBe(-997);
  });
});

test('podAmounts takes the maximum of concurrent containers', () => {
  const needs = (cpu: string) => ({ requests: { cpu, memory: '1' } });
  const pod = testPod({
    initContainers: [
      { name: 'first', resources: needs('900m') },
      { name: 'side', resources: needs('100m'), restartPolicy: 'Always' },
      { name: 'second', resources: needs('850m') },
    ],
    containers: [
      { name: 'a', resources: needs('300m') },
      { name: 'b', resources: needs('400m') },
    ],
  });
  expect(podAmounts(pod, 'requests')).toEqual({ millicores: 950, memoryBytes: 3 });
  expect(podAmounts(pod, 'limits')).toEqual({ millicores: 0, memoryBytes: 0 });
});
