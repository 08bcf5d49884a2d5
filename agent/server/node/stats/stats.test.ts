import { describe, expect, test } from 'vitest';
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

  test('tells what was used in between', () => {
    const rates = createRates();
    expect(rates.rate('a', 0, SECOND)).toBeUndefined();
    expect(rates.rate('a', SECOND, 3 * SECOND)).toBe(SECOND / 2);
  });

  test('tells the last rate again when little time has passed', () => {
    const rates = createRates();
    rates.rate('a', 0, SECOND);
    rates.rate('a', SECOND, 2 * SECOND);
    expect(rates.rate('a', 2 * SECOND, 2 * SECOND + 1)).toBe(SECOND);
  });

  test('begins anew with a counter that went back, and with what was forgotten', () => {
    const rates = createRates();
    rates.rate('a', SECOND, SECOND);
    expect(rates.rate('a', 0, 2 * SECOND)).toBeUndefined();
    rates.keep(new Set());
    expect(rates.rate('a', SECOND, 3 * SECOND)).toBeUndefined();
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

  test('tells that there is nothing', () => {
    expect(resourceMetrics(undefined)).toContain('scrape_error 1\n');
  });
});
