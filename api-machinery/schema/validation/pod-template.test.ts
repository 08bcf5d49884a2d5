import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '../../vocabulary.ts';
import { podWith } from './base-pod.fixture.ts';
import { createFieldErrors } from './field-errors.ts';
import { validatePod } from './pod.ts';
import { validatePodTemplate, validateServiceTemplate } from './pod-template.ts';

const vocabulary = VOCABULARIES.plat;
const SELECTOR = [{ key: 'app', operator: 'in', values: ['web'] }] as const;

interface Row {
  readonly does: string;
  readonly metadata?: object;
  readonly spec?: object;
  readonly container?: object;
  readonly errors: readonly string[];
}

function templateWith({ metadata, spec, container }: Omit<Row, 'does' | 'errors'>) {
  const pod = podWith({ spec: { ...spec }, container: { ...container } });
  return { metadata: { labels: { app: 'web' }, ...metadata }, spec: pod.spec ?? { containers: [] } };
}

function errorsOf(row: Omit<Row, 'does' | 'errors'>): readonly string[] {
  const errors = createFieldErrors();
  const owner = { vocabulary, kind: 'ReplicaSet', selector: SELECTOR };
  validateServiceTemplate(errors, templateWith(row), 'spec.template', owner);
  return errors.all.map((error) => `${error.kind} ${error.field}`);
}

describe('validateServiceTemplate', () => {
  test.each<Row>([
    { does: 'takes a plain template', errors: [] },
    { does: 'needs no name', metadata: { name: 'x' }, errors: [] },
    {
      does: 'wants labels that the selector matches',
      metadata: { labels: { app: 'db' } },
      errors: ['FieldValueInvalid spec.template.metadata.labels'],
    },
    {
      does: 'checks labels',
      metadata: { labels: { app: 'web', 'a b': '' } },
      errors: ['FieldValueInvalid spec.template.labels'],
    },
    {
      does: 'checks annotations',
      metadata: { annotations: { '/x': '' } },
      errors: ['FieldValueInvalid spec.template.annotations'],
    },
    {
      does: 'checks the pod below the template',
      container: { image: '' },
      errors: ['FieldValueRequired spec.template.spec.containers[0].image'],
    },
    {
      does: 'wants pods that are always restarted',
      spec: { restartPolicy: 'Never' },
      errors: ['FieldValueNotSupported spec.template.spec.restartPolicy'],
    },
    {
      does: 'wants pods without a deadline',
      spec: { activeDeadlineSeconds: 5 },
      errors: ['FieldValueForbidden spec.template.spec.activeDeadlineSeconds'],
    },
    {
      does: 'takes no ephemeral containers',
      spec: { ephemeralContainers: [{ name: 'debug', image: 'x' }] },
      errors: ['FieldValueForbidden spec.template.spec.ephemeralContainers'],
    },
  ])('$does', ({ errors, ...row }) => {
    expect(errorsOf(row)).toEqual(errors);
  });

  test('needs a template, and a pod in it', () => {
    const errors = createFieldErrors();
    validateServiceTemplate(errors, undefined, 'spec.template', { vocabulary, kind: 'X', selector: [] });
    validatePodTemplate(errors, {}, 'template', { vocabulary });
    expect(errors.all.map((error) => error.field)).toEqual(['spec.template', 'template.spec.containers']);
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
