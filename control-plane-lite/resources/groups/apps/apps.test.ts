import { describe, expect, it, test } from 'vitest';
import {
  created,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  rowOf,
  TEMPLATE,
  throughPart,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { controllerRevision } from './controller-revision.ts';
import { daemonSet } from './daemon-set.ts';
import { replicaSet } from './replica-set.ts';
import { statefulSet } from './stateful-set.ts';

const metadata = { name: 'web', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' };
const spec = { selector: { matchLabels: { app: 'web' } }, template: TEMPLATE };
const OTHERS = { 'spec.selector.matchLabels': { app: 'db' } };

describe('a replica set', () => {
  const subject: KindSubject = {
    typeRef: 'apps/v1.ReplicaSet',
    entry: replicaSet,
    base: { metadata, spec },
  };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['below zero', { 'spec.replicas': -1 }, ['spec.replicas Invalid']],
    ['ready below zero', { 'spec.minReadySeconds': -1 }, ['spec.minReadySeconds Invalid']],
    ['without template', { 'spec.template': undefined }, ['spec.template Required']],
    ['with a selector of others', OTHERS, ['spec.template.metadata.labels Invalid']],
    ['with an empty selector', { 'spec.selector': {} }, ['spec.selector Invalid']],
    [
      'that ends',
      { 'spec.template.spec.restartPolicy': 'OnFailure' },
      ['spec.template.spec.restartPolicy NotSupported'],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['replicas', { 'spec.replicas': 3 }, []],
    ['selector', OTHERS, ['spec.selector Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['is right', { status: { replicas: 1, readyReplicas: 1, availableReplicas: 1 } }, []],
    [
      'below zero',
      { status: { replicas: -1 } },
      [
        'status.replicas Invalid',
        ...['fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'].map(
          (member) => `status.${member} Invalid`,
        ),
      ],
    ],
    [
      'too many labelled',
      { status: { replicas: 0, fullyLabeledReplicas: 1 } },
      ['status.fullyLabeledReplicas Invalid'],
    ],
    ['too many ready', { status: { replicas: 0, readyReplicas: 1 } }, ['status.readyReplicas Invalid']],
    [
      'too many available',
      { status: { replicas: 1, availableReplicas: 1 } },
      ['status.availableReplicas Invalid'],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('starts with none, can be selected by their number, and has a row', () => {
    const object = created(subject, { status: { replicas: 4 } });
    expect(object['status']).toEqual({ replicas: 0 });
    expect(replicaSet.strategy.selectableFields?.['status.replicas']?.(object)).toBe('0');
    expect(rowOf(subject, { status: { replicas: 2, readyReplicas: 1 } })).toEqual([
      'web',
      1,
      2,
      1,
      '60s',
      'c',
      'i:1',
      'app=web',
    ]);
  });
});

describe('a daemon set', () => {
  const subject: KindSubject = { typeRef: 'apps/v1.DaemonSet', entry: daemonSet, base: { metadata, spec } };
  const ROLLING = 'spec.updateStrategy.rollingUpdate';

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['with an empty selector', { 'spec.selector': {} }, ['spec.selector Invalid']],
    ['with a selector of others', OTHERS, ['spec.template.metadata.labels Invalid']],
    ['with history below zero', { 'spec.revisionHistoryLimit': -1 }, ['spec.revisionHistoryLimit Invalid']],
    ['updated by hand', { 'spec.updateStrategy': { type: 'OnDelete' } }, []],
    [
      'with nothing unavailable',
      { [ROLLING]: { maxUnavailable: 0 } },
      [`${ROLLING}.maxUnavailable Required`],
    ],
    ['with surge only', { [ROLLING]: { maxUnavailable: 0, maxSurge: '10%' } }, []],
    ['with both', { [ROLLING]: { maxUnavailable: 1, maxSurge: 1 } }, [`${ROLLING}.maxSurge Invalid`]],
    ['with more than all', { [ROLLING]: { maxUnavailable: '101%' } }, [`${ROLLING}.maxUnavailable Invalid`]],
    ['with no amount', { [ROLLING]: { maxUnavailable: -1 } }, [`${ROLLING}.maxUnavailable Invalid`]],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['template', { 'spec.template.spec.hostNetwork': true }, []],
    ['selector', OTHERS, ['spec.selector Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['is right', { 'status.numberReady': 1 }, []],
    [
      'below zero',
      { 'status.numberReady': -1, 'status.numberAvailable': -1 },
      ['status.numberReady Invalid', 'status.numberAvailable Invalid'],
    ],
    ['fewer collisions', { 'status.collisionCount': 0 }, ['status.collisionCount Invalid']],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes, { 'status.collisionCount': 2 }).errors).toEqual(expected);
  });

  it('starts with zeros, and has a row', () => {
    expect(created(subject)['status']).toEqual({
      currentNumberScheduled: 0,
      numberMisscheduled: 0,
      desiredNumberScheduled: 0,
      numberReady: 0,
    });
    const status = {
      desiredNumberScheduled: 5,
      currentNumberScheduled: 4,
      numberReady: 3,
      updatedNumberScheduled: 2,
      numberAvailable: 1,
    };
    const row = rowOf(subject, { status, 'spec.template.spec.nodeSelector': { a: 'b' } });
    expect(row).toEqual(['web', 5, 4, 3, 2, 1, 'a=b', '60s', 'c', 'i:1', 'app=web']);
  });
});

describe('a stateful set', () => {
  const subject: KindSubject = {
    typeRef: 'apps/v1.StatefulSet',
    entry: statefulSet,
    base: { metadata, spec: { ...spec, serviceName: 'web' } },
  };
  const RETENTION = 'spec.persistentVolumeClaimRetentionPolicy';

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['with an empty selector', { 'spec.selector': {} }, ['spec.selector Invalid']],
    ['with a selector of others', OTHERS, ['spec.template.metadata.labels Invalid']],
    [
      'with broken labels',
      { 'spec.template.metadata.labels': { app: 'web', x: '-' } },
      ['spec.template.labels[x] Invalid'],
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
    ['updated by hand', { 'spec.updateStrategy': { type: 'OnDelete' } }, []],
    [
      'updated by hand, rolling',
      { 'spec.updateStrategy': { type: 'OnDelete', rollingUpdate: {} } },
      ['spec.updateStrategy.rollingUpdate Invalid'],
    ],
    [
      'partitioned below zero',
      { 'spec.updateStrategy': { rollingUpdate: { partition: -1 } } },
      ['spec.updateStrategy.rollingUpdate.partition Invalid'],
    ],
    [
      'rolling none',
      { 'spec.updateStrategy.rollingUpdate.maxUnavailable': '0%' },
      ['spec.updateStrategy.rollingUpdate.maxUnavailable Invalid'],
    ],
    [
      'rolling more than all',
      { 'spec.updateStrategy.rollingUpdate.maxUnavailable': '101%' },
      ['spec.updateStrategy.rollingUpdate.maxUnavailable Invalid'],
    ],
    ['keeping claims', { [RETENTION]: { whenDeleted: 'Retain', whenScaled: 'Delete' } }, []],
    [
      'recycling claims',
      { [RETENTION]: { whenDeleted: 'Recycle', whenScaled: 'Delete' } },
      [`${RETENTION}.whenDeleted NotSupported`],
    ],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['replicas', { 'spec.replicas': 3, 'spec.minReadySeconds': 3 }, []],
    ['template', { 'spec.template.spec.hostNetwork': true }, []],
    ['update strategy', { 'spec.updateStrategy': { type: 'OnDelete' } }, []],
    ['selector', OTHERS, ['spec Forbidden']],
    ['service', { 'spec.serviceName': 'db' }, ['spec Forbidden']],
    ['claims', { 'spec.volumeClaimTemplates': [{ spec: {} }] }, ['spec Forbidden']],
    ['history', { 'spec.revisionHistoryLimit': 3 }, ['spec Forbidden']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['is right', { status: { replicas: 2, readyReplicas: 2, availableReplicas: 1 } }, []],
    [
      'below zero',
      { status: { replicas: 0, observedGeneration: -1 } },
      ['status.observedGeneration Invalid'],
    ],
    ['too many current', { status: { replicas: 0, currentReplicas: 1 } }, ['status.currentReplicas Invalid']],
    ['too many updated', { status: { replicas: 0, updatedReplicas: 1 } }, ['status.updatedReplicas Invalid']],
    [
      'too many available',
      { status: { replicas: 1, availableReplicas: 1 } },
      ['status.availableReplicas Invalid'],
    ],
  ])('status %s', (_, changes, expected) => {
    expect(throughPart(subject, 'status', changes).errors).toEqual(expected);
  });

  it('forgets what a feature gate keeps back', () => {
    const changes = { [RETENTION]: { whenDeleted: 'Delete', whenScaled: 'Delete' } };
    expect(created(subject, changes)['spec']).not.toHaveProperty('persistentVolumeClaimRetentionPolicy');
    const gates = ['StatefulSetAutoDeletePVC'];
    expect(created({ ...subject, context: { gates } }, changes)).toMatchObject({
      spec: { persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' } },
      status: { replicas: 0 },
    });
  });

  it('has a row', () => {
    expect(rowOf(subject, { status: { replicas: 1, readyReplicas: 1 } })).toEqual([
      'web',
      '1/1',
      '60s',
      'c',
      'i:1',
    ]);
  });
});

describe('a controller revision', () => {
  const subject: KindSubject = {
    typeRef: 'apps/v1.ControllerRevision',
    entry: controllerRevision,
    base: { metadata, revision: 1, data: { a: 1 } },
  };

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['below zero', { revision: -1 }, ['revision Invalid']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['number', { revision: 2 }, []],
    ['data', { 'data.a': 2 }, ['data Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('has a row that names the owner', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'web', uid: 'u', controller: true };
    expect(rowOf(subject)).toEqual(['web', '<none>', '1', '60s']);
    expect(rowOf(subject, { 'metadata.ownerReferences': [owner] })[1]).toBe('statefulset.apps/web');
    const core = { ...owner, apiVersion: 'v1' };
    expect(rowOf(subject, { 'metadata.ownerReferences': [core] })[1]).toBe('statefulset/web');
  });
});
