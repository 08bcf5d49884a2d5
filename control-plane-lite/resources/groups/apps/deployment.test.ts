import { describe, expect, it, test } from 'vitest';
import {
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  TEMPLATE,
  throughPart,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { deployment } from './deployment.ts';

const subject: KindSubject = {
  typeRef: 'apps/v1.Deployment',
  entry: deployment,
  base: {
    metadata: { name: 'web', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' },
    spec: { selector: { matchLabels: { app: 'web' } }, template: TEMPLATE },
  },
};
const ROLLING = 'spec.strategy.rollingUpdate';

describe('a deployment', () => {
  test.each<ErrorRow>([
    ['is right', {}, []],
    [
      'without spec',
      { spec: undefined },
      ['spec.selector Invalid', 'spec.template.spec.containers Required'],
    ],
    ['below zero', { 'spec.replicas': -1 }, ['spec.replicas Invalid']],
    ['ready below zero', { 'spec.minReadySeconds': -1 }, ['spec.minReadySeconds Invalid']],
    ['history below zero', { 'spec.revisionHistoryLimit': -1 }, ['spec.revisionHistoryLimit Invalid']],
    [
      'deadline below zero',
      { 'spec.progressDeadlineSeconds': -1 },
      ['spec.progressDeadlineSeconds Invalid', 'spec.progressDeadlineSeconds Invalid'],
    ],
    [
      'deadline before ready',
      { 'spec.progressDeadlineSeconds': 5, 'spec.minReadySeconds': 5 },
      ['spec.progressDeadlineSeconds Invalid'],
    ],
    ['without selector', { 'spec.selector': undefined }, ['spec.selector Invalid']],
    ['with an empty selector', { 'spec.selector': {} }, ['spec.selector Invalid']],
    [
      'with a broken selector',
      { 'spec.selector.matchLabels': { app: '-' } },
      ['spec.selector.matchLabels[app] Invalid', 'spec.template.metadata.labels Invalid'],
    ],
    [
      'with a selector of others',
      { 'spec.selector.matchLabels': { app: 'db' } },
      ['spec.template.metadata.labels Invalid'],
    ],
    [
      'with a broken pod',
      { 'spec.template.spec.containers': [] },
      ['spec.template.spec.containers Required'],
    ],
    [
      'that ends',
      { 'spec.template.spec.restartPolicy': 'Never' },
      ['spec.template.spec.restartPolicy NotSupported'],
    ],
    [
      'with a pod deadline',
      { 'spec.template.spec.activeDeadlineSeconds': 5 },
      ['spec.template.spec.activeDeadlineSeconds Forbidden'],
    ],
    ['recreated', { 'spec.strategy': { type: 'Recreate' } }, []],
    [
      'recreated and rolling',
      { 'spec.strategy': { type: 'Recreate', rollingUpdate: {} } },
      [`${ROLLING} Forbidden`],
    ],
    [
      'with no room to roll',
      { [ROLLING]: { maxSurge: 0, maxUnavailable: '0%' } },
      [`${ROLLING}.maxUnavailable Invalid`],
    ],
    [
      'more than all unavailable',
      { [`${ROLLING}.maxUnavailable`]: '101%' },
      [`${ROLLING}.maxUnavailable Invalid`],
    ],
    ['more than all as surge', { [`${ROLLING}.maxSurge`]: '200%' }, []],
    [
      'no amounts',
      { [ROLLING]: { maxSurge: 'x', maxUnavailable: -1 } },
      [`${ROLLING}.maxUnavailable Invalid`, `${ROLLING}.maxSurge Invalid`],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['its replicas', { 'spec.replicas': 3 }, []],
    ['its selector', { 'spec.selector.matchLabels': { app: 'db' } }, ['spec.selector Invalid']],
  ])('changing %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['is right', { 'status.replicas': 2, 'status.readyReplicas': 1 }, []],
    ['below zero', { 'status.unavailableReplicas': -1 }, ['status.unavailableReplicas Invalid']],
    ['more ready than there are', { 'status.readyReplicas': 1 }, ['status.readyReplicas Invalid']],
    ['more updated than there are', { 'status.updatedReplicas': 1 }, ['status.updatedReplicas Invalid']],
    [
      'more available than ready',
      { 'status.replicas': 1, 'status.availableReplicas': 1 },
      ['status.availableReplicas Invalid'],
    ],
    ['fewer collisions', { 'status.collisionCount': 1 }, ['status.collisionCount Invalid']],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes, { 'status.collisionCount': 2 }).errors).toEqual(expected);
  });

  it('lets only status and metadata change through its status', () => {
    const changes = { 'status.replicas': 1, 'spec.replicas': 9, 'metadata.labels': { a: 'b' } };
    const { object } = throughPart(subject, 'status', { ...changes, 'metadata.annotations': { c: 'd' } });
    expect(object).toMatchObject({ spec: { replicas: 1 }, status: { replicas: 1 } });
    expect(object.metadata.labels).toBeUndefined();
    expect(object.metadata.annotations).toEqual({ c: 'd' });
  });

  it('has a new generation when spec or annotations change', () => {
    const changes = deployment.strategy.generationChanged;
    const old = objectWith(subject);
    expect(changes?.(objectWith(subject, { 'metadata.labels': { a: 'b' } }), old)).toBe(false);
    expect(changes?.(objectWith(subject, { 'metadata.annotations': { a: 'b' } }), old)).toBe(true);
    expect(changes?.(objectWith(subject, { 'spec.paused': true }), old)).toBe(true);
  });

  it('starts with an empty status', () => {
    expect(created(subject, { status: { replicas: 3 } })['status']).toEqual({});
  });

  it('has a row', () => {
    const status = { readyReplicas: 1, updatedReplicas: 2, availableReplicas: 1 };
    expect(rowOf(subject, { 'spec.replicas': 3, status })).toEqual([
      'web',
      '1/3',
      2,
      1,
      '60s',
      'c',
      'i:1',
      'app=web',
    ]);
  });
});
