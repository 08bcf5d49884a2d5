import { describe, expect, test } from 'vitest';
import type { ContainerStats as CriStats } from '#cri/gen/cri-v1.ts';
import type { ObservedContainer } from '../../../observe/types.ts';
import { containerStats, together } from './pod-stats.ts';
import { parseMeminfo, parseNetDev, parseStat, parseThreads } from './proc.ts';
import { createRates } from './rates.ts';
import { resourceMetrics } from './resource-metrics.ts';

describe('the kernel’s files', () => {
  test('/proc/stat', () => {
    const text = 'cpu  100 10 50 1000 7 3 2 1 0 0\ncpu0 1 1 1 1\nbtime 1700000000\n';
    expect(parseStat(text)).toEqual({ busyNs: 1_660_000_000, bootMs: 1_700_000_000_000 });
  });

  test('/proc/meminfo', () => {
    const text = 'MemTotal:  100 kB\nMemFree:  20 kB\nMemAvailable:   60 kB\nAnonPages:  5 kB\n';
    expect(parseMeminfo(text)).toEqual({
      totalBytes: 102_400,
      freeBytes: 20_480,
      availableBytes: 61_440,
      anonBytes: 5120,
      swapBytes: 0,
      swapFreeBytes: 0,
    });
  });

  test('/proc/net/dev, without what is not the machine’s', () => {
    const text = `Inter-|   Receive  |  Transmit
 face |bytes packets errs drop fifo frame compressed multicast|bytes packets errs drop fifo colls carrier compressed
    lo:    1 1 0 0 0 0 0 0 1 1 0 0 0 0 0 0
  eth0: 1000 10 1 0 0 0 0 0 2000 20 2 0 0 0 0 0
vethab: 5 5 0 0 0 0 0 0 5 5 0 0 0 0 0 0
`;
    expect(parseNetDev(text)).toEqual([
      {
        name: 'eth0',
        rxBytes: 1000,
        rxPackets: 10,
        rxErrors: 1,
        rxDropped: 0,
        txBytes: 2000,
        txPackets: 20,
        txErrors: 2,
        txDropped: 0,
      },
    ]);
  });

  test('/proc/loadavg', () => {
    expect(parseThreads('0.10 0.20 0.30 3/456 789\n')).toBe(456);
  });
});

describe('createRates', () => {
  const SECOND = 1_000_000_000;

  test('returns the rate between two samples', () => {
    const rates = createRates();
    expect(rates.rate('a', 0, SECOND)).toBeUndefined();
    expect(rates.rate('a', SECOND, 3 * SECOND)).toBe(SECOND / 2);
  });

  test('returns the last rate again within a short time', () => {
    const rates = createRates();
    rates.rate('a', 0, SECOND);
    rates.rate('a', SECOND, 2 * SECOND);
    expect(rates.rate('a', 2 * SECOND, 2 * SECOND + 1)).toBe(SECOND);
  });

  test('restarts for a reset counter, and for a dropped key', () => {
    const rates = createRates();
    rates.rate('a', SECOND, SECOND);
    expect(rates.rate('a', 0, 2 * SECOND)).toBeUndefined();
    rates.keep(new Set());
    expect(rates.rate('a', SECOND, 3 * SECOND)).toBeUndefined();
  });
});

describe('amounts of 64 bits', () => {
  const amount = (value: bigint) => ({ value });
  const time = '2024-01-01T00:00:00Z';
  const ofContainer = (ns: bigint, bytes: bigint) => {
    const stats = {
      cpu: { timestamp: 1n, usageCoreNanoSeconds: amount(ns) },
      memory: { timestamp: 1n, workingSetBytes: amount(bytes), availableBytes: amount(bytes) },
    } as unknown as CriStats;
    const observed = { id: 'c', name: 'c', startedAtMs: 1, createdAtMs: 1 } as ObservedContainer;
    return containerStats({ stats, observed, log: undefined, layers: undefined, time }, createRates());
  };

  test('are exact, each and together', () => {
    const odd = 2n ** 53n + 1n;
    const one = ofContainer(odd, 2n ** 64n - 1n);
    expect(JSON.stringify(one.cpu)).toContain(`"usageCoreNanoSeconds":${odd}`);
    expect(JSON.stringify(one.memory)).toContain(`"availableBytes":${2n ** 64n - 1n}`);
    const { cpu } = together([one, ofContainer(2n, 1n)], time);
    expect(cpu.usageCoreNanoSeconds).toBe(odd + 2n);
    expect(together([one, ofContainer(-odd + 5n, 1n)], time).cpu.usageCoreNanoSeconds).toBe(5);
  });
});

describe('resourceMetrics', () => {
  test('shows numbers with their times', () => {
    const time = '2024-01-01T00:00:00Z';
    const cpu = { time, usageCoreNanoSeconds: 1_500_000_000 };
    const text = resourceMetrics({
      node: { nodeName: 'n', startTime: time, cpu, memory: { time, workingSetBytes: 7 } },
      pods: [
        {
          podRef: { name: 'p', namespace: 'ns', uid: 'u' },
          startTime: time,
          containers: [{ name: 'c', startTime: time, cpu }],
        },
      ],
    });
    expect(text).toContain(
      '# TYPE container_cpu_usage_seconds_total counter\ncontainer_cpu_usage_seconds_total{container="c",namespace="ns",pod="p"} 1.5 1704067200000\n',
    );
    expect(text).toContain('node_memory_working_set_bytes 7 1704067200000\n');
    expect(text).not.toContain('pod_cpu_usage_seconds_total');
    expect(text).toContain('scrape_error 0\n');
  });

  test('reports an error without a summary', () => {
    expect(resourceMetrics(undefined)).toContain('scrape_error 1\n');
  });
});
