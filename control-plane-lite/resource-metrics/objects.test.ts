import { describe, expect, test } from 'vitest';
import { createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { CachedObject } from '../cache/contract.ts';
import { StoredObject } from '../cache/state/cached-object.ts';
import { createLruBudget } from '../cache/state/lru-budget.ts';
import { builtinResources } from '../resources/builtin.ts';
import type { Resource } from '../resources/contract.ts';
import { nodeMetrics, podMetrics } from '../resources/groups/metrics/usage.ts';
import { nodeMetricsOf, podMetricsOf, type ShowOptions } from './objects.ts';
import type { Series } from './series.ts';

const vocabulary = VOCABULARIES.kubernetes;
const NOW_MS = Date.parse('2026-05-04T03:02:01Z');
const API_VERSION = `metrics.${vocabulary.apiGroupDomain}/v1beta1`;

function options(kind: string): ShowOptions {
  const resource = builtinResources({ vocabulary, gates: new Set(), kinds: {} }).find(
    ({ info }): boolean => info.kind === kind,
  );
  if (resource === undefined) throw new Error(`${kind} is there`);
  return { resource: resource satisfies Resource, nowMs: NOW_MS };
}

function stored(key: string, labels: object = {}): CachedObject {
  const context = { selectable: {}, parsed: createLruBudget(0), forms: createLruBudget(0) };
  const name = key.slice(key.indexOf('/') + 1);
  return new StoredObject(
    key,
    7,
    Buffer.from(JSON.stringify({ metadata: { name, uid: 'u', resourceVersion: '7', labels } })),
    context,
  );
}

const series = (nanocores: number, memoryBytes: number, windowMs = 10_000, atMs = NOW_MS - 1000): Series => ({
  last: { startMs: 1, atMs, cpuNs: 5 + (nanocores * windowMs) / 1000, memoryBytes },
  previous: { startMs: 1, atMs: atMs - windowMs, cpuNs: 5, memoryBytes: 9 },
});

describe('metrics', () => {
  const node = nodeMetricsOf(
    stored('n1', { zone: 'a' }),
    series(1_234_000, 4096 * 1024),
    options('NodeMetrics'),
  );
  const pod = podMetricsOf(
    stored('default/web'),
    new Map([
      ['a', series(250_000_000, 1_000_001, 15_020)],
      ['b', series(0, 3 * 1024, 14_000, NOW_MS - 2000)],
    ]),
    options('PodMetrics'),
  );

  test('of a node have its labels', () => {
    expect(node?.object()).toEqual({
      kind: 'NodeMetrics',
      apiVersion: API_VERSION,
      metadata: { name: 'n1', creationTimestamp: '2026-05-04T03:02:01Z', labels: { zone: 'a' } },
      timestamp: '2026-05-04T03:02:00Z',
      window: '10s',
      usage: { cpu: '1234u', memory: '4Mi' },
    });
  });

  test('of a pod have the window that ended first', () => {
    expect(pod?.object()).toEqual({
      kind: 'PodMetrics',
      apiVersion: API_VERSION,
      metadata: { name: 'web', namespace: 'default', creationTimestamp: '2026-05-04T03:02:01Z' },
      timestamp: '2026-05-04T03:01:59Z',
      window: '14s',
      containers: [
        { name: 'a', usage: { cpu: '250m', memory: '1000001' } },
        { name: 'b', usage: { cpu: '0', memory: '3Ki' } },
      ],
    });
  });

  test('are the same in JSON and after protobuf', () => {
    const protobuf = createApiProtobuf(vocabulary);
    for (const shown of [node, pod]) {
      if (shown === undefined) throw new Error('there are metrics');
      expect(JSON.parse(shown.json.toString())).toEqual(shown.object());
      expect(protobuf.decode(protobuf.encode(shown.object()))).toEqual(shown.object());
    }
  });

  test('are rows with the sum of the containers', () => {
    const context = { nowMs: NOW_MS, vocabulary };
    expect(node && nodeMetrics.strategy.row?.(node.object(), context)).toEqual(['n1', '1234u', '4Mi', '10s']);
    expect(pod && podMetrics.strategy.row?.(pod.object(), context)).toEqual([
      'web',
      '250m',
      '1003073',
      '14s',
    ]);
  });

  test('are not there without a rate', () => {
    const { last } = series(1, 1);
    const once = { last, previous: undefined };
    expect(nodeMetricsOf(stored('n1'), once, options('NodeMetrics'))).toBeUndefined();
    expect(podMetricsOf(stored('n/p'), new Map([['a', once]]), options('PodMetrics'))).toBeUndefined();
    expect(podMetricsOf(stored('n/p'), undefined, options('PodMetrics'))).toBeUndefined();
  });
});
