import { describe, expect, test } from 'vitest';
import type { ApiObject } from '../resources/contract.ts';
import { customScale } from './custom-scale.ts';

const scale = customScale({
  specReplicasPath: '.spec.size.wanted',
  statusReplicasPath: '.status.there',
  labelSelectorPath: ".status['the.selector']",
});

const object = (members: object): ApiObject => ({
  apiVersion: 'shop.example/v1',
  kind: 'Cake',
  metadata: { name: 'a', uid: 'u', labels: { l: 'x' } },
  ...members,
});
const wanted = (replicas?: number): ApiObject => ({
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: {},
  spec: replicas === undefined ? {} : { replicas },
});

describe('customScale', () => {
  test('shows the values at the paths', () => {
    const given = object({ spec: { size: { wanted: 3 } }, status: { there: 2, 'the.selector': 'a=b' } });
    expect(scale.scaleOf(given)).toEqual({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'a', uid: 'u' },
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'a=b' },
    });
    expect(scale.scaleOf(object({ spec: { size: { wanted: 0 } } }))).toMatchObject({
      spec: {},
      status: { replicas: 0 },
    });
  });

  test.each<readonly [number | bigint, number]>([
    [2 ** 31 - 1, 2 ** 31 - 1],
    [2 ** 31, -(2 ** 31)],
    [2n ** 53n + 1n, 1],
    [2n ** 63n - 1n, -1],
    [-(2n ** 63n), 0],
  ])('shows what 32 bits hold of %s', (there, shown) => {
    const given = object({ spec: { size: { wanted: 1 } }, status: { there } });
    expect(scale.scaleOf(given)).toMatchObject({ status: { replicas: shown } });
  });

  test('cannot show absent values', () => {
    expect(() => scale.scaleOf(object({ spec: { size: { wanted: 'three' } } }))).toThrow('.spec.size.wanted');
  });

  test('sets the number, and creates its parents', () => {
    const draft = object({ spec: { other: 1 } });
    scale.apply(draft, wanted(4));
    expect(draft['spec']).toEqual({ other: 1, size: { wanted: 4 } });
    scale.apply(draft, wanted());
    expect(draft['spec']).toEqual({ other: 1, size: { wanted: 0 } });
  });
});
