/** Values from the metrics APIs: what is read, and what is rejected. */
import { describe, expect, test } from 'vitest';
import { readExternalValue, readObjectValue, readPodValues } from './custom-values.ts';
import { podMetrics, readPodUsages } from './usage.ts';

const AT = '2026-01-01T12:00:00Z';
const podUsage = (name: string, usage: Readonly<Record<string, string>>): object => ({
  metadata: { name, namespace: 'default' },
  timestamp: AT,
  window: '30s',
  containers: [
    { name: 'main', usage },
    { name: 'other', usage: { cpu: '5m', memory: '1Ki' } },
  ],
});

describe('resource usage', () => {
  const usages = readPodUsages({
    items: [podUsage('a', { cpu: '1500n', memory: '2Mi' }), podUsage('b', {})],
  });

  test('sums the containers of a pod, in thousandths rounded up', () => {
    expect(podMetrics(usages, 'cpu')).toEqual(
      new Map([['a', { value: 6n, atMs: Date.parse(AT), windowMs: 30_000 }]]),
    );
    expect(podMetrics(usages, 'memory').get('a')?.value).toBe(2_098_176_000n);
  });

  test('of one container omits pods whose container does not report it', () => {
    expect([...podMetrics(usages, 'cpu', 'main').keys()]).toEqual(['a']);
    expect(podMetrics(usages, 'cpu', 'other').get('b')?.value).toBe(5n);
    expect(() => podMetrics(usages, 'cpu', 'absent')).toThrow(
      'failed to get container metrics: container absent not present in metrics for pod default/a',
    );
  });

  test('without pods it fails', () => {
    expect(() => podMetrics([], 'cpu')).toThrow('no metrics returned from resource metrics API');
  });
});

const value = (name: string, more: object = {}): object => ({
  describedObject: { kind: 'Pod', name },
  timestamp: AT,
  value: '1500m',
  ...more,
});

describe('custom metrics', () => {
  test.each([
    ['version v1beta2', { windowSeconds: 20 }, 20_000],
    ['version v1beta1', { window: 10 }, 10_000],
    ['no window', {}, 60_000],
  ])('of pods, with %s', (_, window, windowMs) => {
    const metric = { value: 1500n, atMs: Date.parse(AT), windowMs };
    expect(readPodValues({ items: [value('a', window)] })).toEqual(new Map([['a', metric]]));
  });

  test('of one object', () => {
    expect(readObjectValue({ items: [value('a')] })).toBe(1500n);
    expect(() => readObjectValue({ items: [] })).toThrow('returned 0 results when we asked for exactly one');
    expect(() => readObjectValue({ items: [value('a'), value('b')] })).toThrow('returned 2 results');
  });

  test('external ones are summed', () => {
    expect(readExternalValue({ items: [value('a'), value('b', { value: '2k' })] })).toBe(2_001_500n);
    expect(() => readExternalValue({ items: [] })).toThrow('no metrics returned from external metrics API');
  });
});

describe('a response is rejected', () => {
  test.each<[string, unknown, string]>([
    ['no object', 'text', 'the response is not a list'],
    ['no list', { items: {} }, 'the response is not a list'],
    ['an item of another type', { items: [1] }, 'an item of the list is not an object'],
    ['no time', { items: [value('a', { timestamp: undefined })] }, 'timestamp is missing'],
    ['an invalid time', { items: [value('a', { timestamp: 'now' })] }, 'timestamp: "now" is invalid'],
    ['an invalid quantity', { items: [value('a', { value: '1x' })] }, 'value: "1x" is invalid'],
  ])('%s', (_, given, message) => {
    expect(() => readPodValues(given)).toThrow(message);
  });

  test('with a pod that has no name, and with an invalid usage', () => {
    expect(() => readPodUsages({ items: [{ timestamp: AT }] })).toThrow('namespace is missing');
    expect(() => readPodUsages({ items: [podUsage('a', { cpu: 'much' })] })).toThrow(
      'cpu: "much" is invalid',
    );
  });
});
