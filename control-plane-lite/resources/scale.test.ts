import { describe, expect, test } from 'vitest';
import type { ApiObject } from './contract.ts';
import { applyScale, scaleOf, validateScale } from './scale.ts';

const metadata = {
  name: 'web',
  namespace: 'shop',
  uid: 'u1',
  resourceVersion: '7',
  creationTimestamp: '2022-05-03T12:00:00Z',
};

const deployment = (spec: object, status: object = {}): ApiObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { ...metadata, labels: { a: 'b' } },
  spec,
  status,
});

describe('scaleOf', () => {
  test('shows number and selector of a deployment, and whose they are', () => {
    const selector = {
      matchLabels: { app: 'web' },
      matchExpressions: [{ key: 'tier', operator: 'In', values: ['b', 'a'] }],
    };
    expect(scaleOf(deployment({ replicas: 3, selector }, { replicas: 2 }))).toEqual({
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata,
      spec: { replicas: 3 },
      status: { replicas: 2, selector: 'app=web,tier in (a,b)' },
    });
  });

  test('shows the plain selector of a replication controller', () => {
    const controller = {
      ...deployment({ selector: { b: '2', matchLabels: '1' } }),
      apiVersion: 'v1',
      kind: 'ReplicationController',
    };
    expect(scaleOf(controller)).toMatchObject({
      spec: {},
      status: { replicas: 0, selector: 'b=2,matchLabels=1' },
    });
  });
});

describe('applyScale', () => {
  const scale = (spec?: object): ApiObject => ({
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: {},
    ...(spec === undefined ? {} : { spec }),
  });

  test('changes the number only', () => {
    const draft = deployment({ replicas: 3, paused: true });
    applyScale(draft, scale({ replicas: 5 }));
    expect(draft['spec']).toEqual({ replicas: 5, paused: true });
    applyScale(draft, scale());
    expect(draft['spec']).toEqual({ replicas: 0, paused: true });
  });

  test('refuses fewer than none', () => {
    expect(validateScale(scale({ replicas: 0 }))).toEqual([]);
    expect(validateScale(scale({ replicas: -1 }))).toMatchObject([
      { kind: 'FieldValueInvalid', field: 'spec.replicas' },
    ]);
  });
});
