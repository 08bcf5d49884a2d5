import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { UsageError } from '../errors.ts';
import { meets, parseWaitCondition } from './wait-condition.ts';

const POD: Pod = {
  metadata: { name: 'web' },
  status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
};

describe('conditions of wait', () => {
  test.each([
    ['condition=Ready', POD, true],
    ['condition=ready=true', POD, true],
    ['condition=Ready=false', POD, false],
    ['condition=Initialized', POD, false],
    ['jsonpath={.status.phase}=Running', POD, true],
    ['jsonpath=.status.phase=Pending', POD, false],
    ['jsonpath={.status.phase}', POD, true],
    ['jsonpath={.status.podIP}', POD, false],
    ['jsonpath={.status.conditions[?(@.type=="Ready")].status}=True', POD, true],
    ['create', POD, true],
    ['create', undefined, false],
    ['delete', POD, false],
    ['delete', undefined, true],
    ['condition=Ready', undefined, false],
  ])('%s', (text, pod, expected) => {
    expect(meets(parseWaitCondition(text), pod)).toBe(expected);
  });

  test.each([undefined, '', 'ready', 'condition=', 'condition=a=b=c', 'jsonpath={.a[}=1', 'jsonpath={.a}x'])(
    '%s is invalid',
    (text) => {
      expect(() => parseWaitCondition(text)).toThrow(UsageError);
    },
  );
});
