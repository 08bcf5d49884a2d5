import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '../../vocabulary.ts';
import { podWith } from './base-pod.fixture.ts';
import { createFaults } from './faults.ts';
import { validatePod } from './pod.ts';
import { validatePodTemplate, validateServiceTemplate } from './pod-template.ts';

const vocabulary = VOCABULARIES.plat;
const SELECTOR = [{ key: 'app', operator: 'in', values: ['web'] }] as const;

interface Row {
  readonly does: string;
  readonly metadata?: object;
  readonly spec?: object;
  readonly container?: object;
  readonly faults: readonly string[];
}

function templateWith({ metadata, spec, container }: Omit<Row, 'does' | 'faults'>) {
  const pod = podWith({ spec: { ...spec }, container: { ...container } });
  return { metadata: { labels: { app: 'web' }, ...metadata }, spec: pod.spec ?? { containers: [] } };
}

function faultsOf(row: Omit<Row, 'does' | 'faults'>): readonly string[] {
  const faults = createFaults();
  const owner = { vocabulary, kind: 'ReplicaSet', selector: SELECTOR };
  validateServiceTemplate(faults, templateWith(row), 'spec.template', owner);
  return faults.errors.map((error) => `${error.kind} ${error.field}`);
}

describe('validateServiceTemplate', () => {
  test.each<Row>([
    { does: 'takes a plain template', faults: [] },
    { does: 'needs no name', metadata: { name: 'x' }, faults: [] },
    {
      does: 'wants labels that the selector matches',
      metadata: { labels: { app: 'db' } },
      faults: ['FieldValueInvalid spec.template.metadata.labels'],
    },
    {
      does: 'checks labels',
      metadata: { labels: { app: 'web', 'a b': '' } },
      faults: ['FieldValueInvalid spec.template.labels'],
    },
    {
      does: 'checks annotations',
      metadata: { annotations: { '/x': '' } },
      faults: ['FieldValueInvalid spec.template.annotations'],
    },
    {
      does: 'checks the pod below the template',
      container: { image: '' },
      faults: ['FieldValueRequired spec.template.spec.containers[0].image'],
    },
    {
      does: 'wants pods that are always restarted',
      spec: { restartPolicy: 'Never' },
      faults: ['FieldValueNotSupported spec.template.spec.restartPolicy'],
    },
    {
      does: 'wants pods without a deadline',
      spec: { activeDeadlineSeconds: 5 },
      faults: ['FieldValueForbidden spec.template.spec.activeDeadlineSeconds'],
    },
    {
      does: 'takes no ephemeral containers',
      spec: { ephemeralContainers: [{ name: 'debug', image: 'x' }] },
      faults: ['FieldValueForbidden spec.template.spec.ephemeralContainers'],
    },
  ])('$does', ({ faults, ...row }) => {
    expect(faultsOf(row)).toEqual(faults);
  });

  test('needs a template, and a pod in it', () => {
    const faults = createFaults();
    validateServiceTemplate(faults, undefined, 'spec.template', { vocabulary, kind: 'X', selector: [] });
    validatePodTemplate(faults, {}, 'template', { vocabulary });
    expect(faults.errors.map((error) => error.field)).toEqual(['spec.template', 'template.spec.containers']);
  });
});

describe('validatePod', () => {
  test('accepts fields of the API server only, as an option', () => {
    const pod = podWith({ spec: { os: { name: 'windows' }, terminationGracePeriodSeconds: -1 } });
    expect(validatePod(pod, { vocabulary }).map((error) => error.field)).toEqual([
      'spec.terminationGracePeriodSeconds',
      'spec.os.name',
    ]);
    const options = { vocabulary, operatingSystems: ['linux', 'windows'], negativeGracePeriod: true };
    expect(validatePod(pod, options)).toEqual([]);
  });
});
