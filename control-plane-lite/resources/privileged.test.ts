import { expect, test } from 'vitest';
import type { ApiObject } from './contract.ts';
import { privilegedCheck } from './privileged.ts';

const privileged = { name: 'c', securityContext: { privileged: true } };
const objectWith = (spec: unknown): ApiObject => ({ apiVersion: 'v1', kind: 'X', metadata: {}, spec });
const fieldsOf = (typeRef: string, spec: unknown): readonly string[] | undefined =>
  privilegedCheck(typeRef)?.(objectWith(spec)).map(({ field }) => field);

test.each<[string, unknown, readonly string[] | undefined]>([
  [
    'core/v1.Pod',
    {
      containers: [{ name: 'a' }, privileged],
      initContainers: [privileged],
      ephemeralContainers: [privileged],
    },
    [
      'spec.initContainers[0].securityContext.privileged',
      'spec.containers[1].securityContext.privileged',
      'spec.ephemeralContainers[0].securityContext.privileged',
    ],
  ],
  ['core/v1.Pod', { containers: [{ securityContext: { privileged: false } }] }, []],
  ['core/v1.Pod', undefined, []],
  [
    'batch/v1.CronJob',
    { jobTemplate: { spec: { template: { spec: { containers: [privileged] } } } } },
    ['spec.jobTemplate.spec.template.spec.containers[0].securityContext.privileged'],
  ],
  ['core/v1.Service', {}, undefined],
])('privileged containers of a %s are found', (typeRef, spec, expected) => {
  expect(fieldsOf(typeRef, spec)).toEqual(expected);
});
