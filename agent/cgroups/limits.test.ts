import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { MAX_INT64 } from '#api/kit/int64.ts';
import { testPod } from '../runtime/config/pod.fixture.ts';
import {
  BEST_EFFORT_LIMITS,
  burstableLimits,
  type CgroupLimits,
  classLimits,
  partLimits,
  podLimits,
  weightOf,
  writesV1,
  writesV2,
} from './limits.ts';
import { podShare } from './pod-amounts.ts';

const OPTIONS = { cpuCFSQuota: true, cpuPeriodUs: 100_000n, podPidsLimit: -1, memoryQoS: false };
const amounts = (
  millicores: number,
  memoryBytes: number,
): { readonly millicores: number; readonly memoryBytes: number } => ({ millicores, memoryBytes });
const ALL = { cpu: true, memory: true };
const NONE = { cpu: false, memory: false };

describe('a pod', () => {
  test.each<
    [string, Parameters<typeof podLimits>[0], Partial<Parameters<typeof podLimits>[1]>, CgroupLimits]
  >([
    [
      'has the limits of its containers together',
      { requests: amounts(500, 10), limits: amounts(1000, 20), limited: ALL },
      {},
      { cpuShares: 512n, cpuQuotaUs: 100_000n, cpuPeriodUs: 100_000n, memoryBytes: 20n },
    ],
    [
      'has none where a container has none',
      { requests: amounts(500, 10), limits: amounts(1000, 20), limited: NONE },
      {},
      { cpuShares: 512n },
    ],
    [
      'has the weight of its limit without a request',
      { requests: amounts(0, 0), limits: amounts(1000, 0), limited: { cpu: true, memory: false } },
      { cpuCFSQuota: false },
      { cpuShares: 1024n },
    ],
    [
      'has so many processes',
      { requests: amounts(0, 0), limits: amounts(0, 0), limited: NONE },
      { podPidsLimit: 64 },
      { cpuShares: 2n, pids: 64n },
    ],
    [
      'protects the requested memory',
      { requests: amounts(0, 10), limits: amounts(0, 0), limited: NONE },
      { memoryQoS: true },
      { cpuShares: 2n, memoryMinBytes: 10n },
    ],
  ])('%s', (_, pod, more, limits) => {
    expect(podLimits(pod, { ...OPTIONS, ...more })).toEqual(limits);
  });
});

test('the weight of a QoS class is the sum of its requests', () => {
  expect(burstableLimits([amounts(250, 1), amounts(250, 2)], true)).toEqual({
    cpuShares: 512n,
    memoryMinBytes: 3n,
  });
  expect(burstableLimits([], true)).toEqual({ cpuShares: 2n });
  expect(BEST_EFFORT_LIMITS).toEqual({ cpuShares: 2n });
});

test('reserved parts of the node are limited to their reservations', () => {
  expect(partLimits({ millicores: 2000, memoryBytes: 5, pids: 7 })).toEqual({
    cpuShares: 2048n,
    memoryBytes: 5n,
    pids: 7n,
  });
  expect(partLimits({})).toEqual({});
});

describe('files', () => {
  const limits: CgroupLimits = {
    cpuShares: 1024n,
    cpuQuotaUs: 50_000n,
    cpuPeriodUs: 100_000n,
    memoryBytes: 4096n,
    memoryMinBytes: 1024n,
    pids: 9n,
  };
  const lines = (writes: ReturnType<typeof writesV1>): readonly string[] =>
    writes.map(({ controller, file, text }) => `${controller} ${file} ${text}`);

  test('of version 1', () => {
    expect(lines(writesV1(limits))).toEqual([
      'cpu cpu.shares 1024',
      'cpu cpu.cfs_period_us 100000',
      'cpu cpu.cfs_quota_us 50000',
      'memory memory.limit_in_bytes 4096',
      'pids pids.max 9',
    ]);
    expect(lines(writesV1({}))).toEqual([
      'cpu cpu.cfs_quota_us -1',
      'memory memory.limit_in_bytes -1',
      'pids pids.max max',
    ]);
  });

  test('of version 2', () => {
    expect(lines(writesV2(limits))).toEqual([
      'cpu cpu.weight 39',
      'cpu cpu.max 50000 100000',
      'memory memory.max 4096',
      'memory memory.min 1024',
      'pids pids.max 9',
    ]);
    expect(lines(writesV2({}))).toEqual([
      'cpu cpu.max max 100000',
      'memory memory.max max',
      'memory memory.min 0',
      'pids pids.max max',
    ]);
  });

  test('weigh between 1 and 10000, more for more', () => {
    const shares = fc.bigInt({ min: 2n, max: 262_144n });
    fc.assert(
      fc.property(shares, shares, (one, other) => {
        expect(weightOf(one) >= 1n && weightOf(one) <= 10_000n).toBe(true);
        expect(one > other || weightOf(one) <= weightOf(other)).toBe(true);
      }),
    );
    expect([weightOf(2n), weightOf(262_144n)]).toEqual([1n, 10_000n]);
  });
});

test('the memory of QoS classes is exact, whatever the amounts', () => {
  const bytes = fc.bigInt(0n, 2n ** 60n);
  const podOf = (memory: bigint, overhead: bigint): Pod => {
    const list = { cpu: '1', memory: `${memory + 1n}` };
    const resources = { requests: list, limits: list };
    return testPod({ overhead: { memory: `${overhead}` } }, { resources });
  };
  fc.assert(
    fc.property(fc.array(fc.tuple(bytes, bytes), { maxLength: 4 }), (pods) => {
      const shares = pods.map(([limit, overhead]) => podShare(podOf(limit, overhead), []));
      for (const [index, [limit, overhead]] of pods.entries()) {
        const { amounts: total } = shares[index] ?? podShare(testPod(), []);
        const { memoryBytes } = podLimits(total, OPTIONS);
        expect(memoryBytes).toBe(limit + 1n + overhead);
      }
      const sum = pods.reduce((total, [limit, overhead]) => total + limit + 1n + overhead, 0n);
      const options = { memoryQoS: true, reservedPercent: 30, allocatableMemoryBytes: 2 ** 53 - 1 };
      const { memoryMinBytes } = classLimits(shares, options);
      expect(memoryMinBytes).toBe(sum > MAX_INT64 ? MAX_INT64 : sum);
    }),
  );
});
