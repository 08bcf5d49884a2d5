import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { podTemplateKind } from './pod-template.ts';
import { replicationControllerKind } from './replication-controller.ts';
import {
  changed,
  contextWith,
  createFaultsOf,
  NOW_MS,
  objectOf,
  updateFaultsOf,
} from './strategy.fixture.ts';

const vocabulary = VOCABULARIES.plat;
const metadata = { name: 'web', namespace: 'default', creationTimestamp: '2022-05-03T11:00:00Z' };
const template = {
  metadata: { labels: { app: 'web' } },
  spec: { containers: [{ name: 'a', image: 'a:1' }] },
};

describe('PodTemplate', () => {
  const kind = podTemplateKind(vocabulary);
  const podTemplate = (changes: object = {}): ApiObject =>
    objectOf('core/v1.PodTemplate', { metadata, template: changed(template, changes) });

  test('checks its template', () => {
    expect(createFaultsOf(kind, podTemplate())).toEqual([]);
    expect(createFaultsOf(kind, podTemplate({ spec: { containers: [] } }))).toEqual([
      'FieldValueRequired template.spec.containers',
    ]);
    expect(createFaultsOf(kind, objectOf('core/v1.PodTemplate', { metadata }))).toEqual([
      'FieldValueRequired template.spec.containers',
    ]);
  });

  test('counts changes of its template', () => {
    const { generationChanged } = kind.strategy;
    expect(generationChanged?.(podTemplate(), podTemplate())).toBe(false);
    expect(generationChanged?.(podTemplate({ metadata: { labels: {} } }), podTemplate())).toBe(true);
  });

  test('shows it', () => {
    expect(kind.strategy.row?.(podTemplate(), { nowMs: NOW_MS, vocabulary })).toEqual([
      'web',
      'a',
      'a:1',
      'app=web',
    ]);
    expect(
      kind.strategy.warnings?.(podTemplate({ spec: { terminationGracePeriodSeconds: -1 } }), undefined),
    ).toEqual([expect.stringMatching(/^template\.spec\.terminationGracePeriodSeconds: /)]);
  });
});

describe('ReplicationController', () => {
  const kind = replicationControllerKind(vocabulary);
  const controller = (changes: object = {}, status: object = {}): ApiObject =>
    objectOf('core/v1.ReplicationController', {
      metadata,
      spec: changed({ replicas: 2, selector: { app: 'web' }, template }, changes),
      status,
    });

  test.each<[string, object, readonly string[]]>([
    ['is fine', {}, []],
    ['takes its labels for a selector', { selector: undefined }, []],
    ['has pods', { replicas: -1 }, ['FieldValueInvalid spec.replicas']],
    ['waits', { minReadySeconds: -1 }, ['FieldValueInvalid spec.minReadySeconds']],
    ['has a template', { template: undefined }, ['FieldValueRequired spec.template']],
    ['finds its pods', { selector: { app: 'db' } }, ['FieldValueInvalid spec.template.metadata.labels']],
    [
      'finds its pods alone',
      { selector: undefined, template: { metadata: undefined } },
      ['FieldValueRequired spec.selector'],
    ],
    [
      'keeps its pods running',
      { template: { spec: { ...template.spec, restartPolicy: 'Never' } } },
      ['FieldValueNotSupported spec.template.spec.restartPolicy'],
    ],
  ])('%s', (_, changes, errors) => {
    expect(createFaultsOf(kind, controller(changes))).toEqual(errors);
  });

  test('starts without pods', () => {
    const draft = controller();
    kind.strategy.prepareForCreate?.(draft, contextWith());
    expect(draft['status']).toEqual({ replicas: 0 });
    expect(kind.strategy.defaultPropagation).toBe('orphan');
  });

  test.each<[object, readonly string[]]>([
    [{ replicas: 3, fullyLabeledReplicas: 3, readyReplicas: 2, availableReplicas: 1 }, []],
    [
      { replicas: -1, fullyLabeledReplicas: -1, readyReplicas: -1, availableReplicas: -1 },
      ['replicas', 'fullyLabeledReplicas', 'readyReplicas', 'availableReplicas'].map(
        (member) => `FieldValueInvalid status.${member}`,
      ),
    ],
    [{ replicas: 1, fullyLabeledReplicas: 2 }, ['FieldValueInvalid status.fullyLabeledReplicas']],
    [{ replicas: 1, readyReplicas: 2 }, ['FieldValueInvalid status.readyReplicas']],
    [{ replicas: 2, readyReplicas: 1, availableReplicas: 2 }, ['FieldValueInvalid status.availableReplicas']],
    [{ replicas: 1, observedGeneration: -1 }, ['FieldValueInvalid status.observedGeneration']],
  ])('counts %j', (status, errors) => {
    expect(updateFaultsOf(kind, controller({}, status), controller(), 'status')).toEqual(errors);
  });

  test('shows numbers', () => {
    const object = controller({}, { replicas: 3, readyReplicas: 1 });
    const row = kind.strategy.row?.(object, { nowMs: NOW_MS, vocabulary });
    expect(row).toEqual(['web', 2, 3, 1, '60m', 'a', 'a:1', 'app=web']);
    expect(kind.strategy.selectableFields?.['status.replicas']?.(object)).toBe('3');
    expect(kind.strategy.warnings?.(object, undefined)).toEqual([]);
  });
});
