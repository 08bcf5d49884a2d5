import { describe, expect, test } from 'vitest';
import { finish } from '../kit/steps.ts';
import { decode, decodeInSteps } from './decode.ts';

const MANY = 9000;
const members = (value: unknown): Record<string, unknown> =>
  Object.fromEntries(Array.from({ length: MANY }, (_, index) => [`k${index}`, value]));
const list = (item: (index: number) => unknown): unknown[] =>
  Array.from({ length: MANY }, (_, index) => item(index));
const pod = (container: object): object => ({ spec: { containers: [{ name: 'c', ...container }] } });

describe('decodeInSteps', () => {
  test.each([
    ['few members', 'core/v1.ConfigMap', { metadata: { name: 'a' }, data: { a: 'b' } }],
    ['empty members', 'core/v1.ConfigMap', { metadata: { labels: {}, finalizers: [] }, data: {} }],
    ['many members', 'core/v1.ConfigMap', { data: members('v'), binaryData: members('') }],
    ['members of null', 'core/v1.ConfigMap', { data: members(null) }],
    ['members of a wrong type', 'core/v1.ConfigMap', { data: members(1), binaryData: { a: '???' } }],
    ['many unknown members', 'core/v1.ConfigMap', members(1)],
    ['hidden values', 'core/v1.Secret', { data: members('???') }],
    ['many items', 'core/v1.Pod', pod({ env: list((index) => ({ name: `E${index}`, value: '' })) })],
    ['items in items', 'core/v1.Pod', { spec: { containers: list(() => ({ ports: [{}], args: ['a'] })) } }],
    ['items of null', 'core/v1.Pod', pod({ args: list(() => null) })],
    [
      'items of a wrong type',
      'core/v1.Pod',
      pod({ ports: list((index) => ({ containerPort: index % 2 === 0 ? 'a' : 1 })) }),
    ],
    ['items with unknown members', 'core/v1.Pod', pod({ env: list(() => ({ nme: 'a' })) })],
    [
      'words',
      'core/v1.PersistentVolumeClaim',
      { spec: { accessModes: list((index) => (index === 8999 ? 'No' : 'ReadWriteOnce')) } },
    ],
    [
      'metadata',
      'core/v1.ConfigMap',
      { metadata: { annotations: members('a'), labels: members(''), ownerReferences: list(() => ({})) } },
    ],
  ])('gives of %s what decode gives', (_name, type, value) => {
    for (const options of [{}, { emptyFields: 'canonical', missingFields: 'ignore' }] as const) {
      const wanted = decode<unknown>(type, value, options);
      const steps = decodeInSteps<unknown>(type, value, options);
      const decoded = finish(steps);
      // Values with errors other than unknown fields are rejected.
      const isUsed = wanted.errors.every(({ kind }) => kind === 'FieldUnknown');
      expect(!isUsed || JSON.stringify(decoded.value) === JSON.stringify(wanted.value)).toBe(true);
      // Of very many errors, others may be among the first.
      expect(decoded.errors).toHaveLength(wanted.errors.length);
      const isAll = wanted.errors.length < 200;
      expect(new Set(isAll ? decoded.errors : [])).toEqual(new Set(isAll ? wanted.errors : []));
    }
  });

  test('takes several steps for many members, and none for few', () => {
    expect([...decodeInSteps('core/v1.ConfigMap', { data: members('v') })].length).toBeGreaterThan(1);
    expect([...decodeInSteps('core/v1.ConfigMap', { data: { a: 'v' } })]).toHaveLength(0);
  });
});
