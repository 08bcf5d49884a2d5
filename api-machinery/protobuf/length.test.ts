import { describe, expect, test } from 'vitest';
import { MemberNames } from '../codec/member-names.ts';
import { finish } from '../kit/steps.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { createApiProtobuf } from './api-protobuf.ts';
import { protobufLengthSteps } from './length.ts';

const { plat } = VOCABULARIES;
const protobuf = createApiProtobuf(plat);
const lengthOf = (typeRef: string, object: object, most = 1e9): number =>
  finish(protobufLengthSteps(typeRef, object, plat, { most }));

const keys = Array.from({ length: 9000 }, (_, index) => [`k${index}`, `\n€${index}`]);
const POD = {
  metadata: { name: 'a', labels: { a: 'b' }, annotations: { c: 'd' } },
  spec: {
    containers: Array.from({ length: 9000 }, (_, index) => ({
      name: `c${index}`,
      resources: { limits: { cpu: '1' } },
      env: [{ name: 'A', value: '"' }],
    })),
    securityContext: { supplementalGroups: [0, 127, 128, 2 ** 31, 2 ** 40], fsGroup: -1 },
  },
};

describe('the length of a message', () => {
  test.each<[string, string, Record<string, unknown>]>([
    ['texts', 'core/v1.ConfigMap', { metadata: { name: 'a' }, data: Object.fromEntries(keys) }],
    ['base64', 'core/v1.Secret', { data: { a: Buffer.alloc(100_001).toString('base64') } }],
    ['nested messages and numbers', 'core/v1.Pod', POD],
  ])('is that of its encoding but for lengths of more than a byte: %s', (_, typeRef, object) => {
    const { length } = protobuf.encodeMessage(typeRef, object);
    expect(lengthOf(typeRef, object)).toBeLessThanOrEqual(length);
    expect(lengthOf(typeRef, object)).toBeGreaterThan(length - 16);
  });

  test('is counted in steps, and not further than is asked for', () => {
    const steps = protobufLengthSteps('core/v1.Pod', POD, plat, { most: 1000 });
    const step = steps.next();
    expect(step.done).toBe(true);
    expect(step.value).toBeGreaterThan(1000);
    expect(step.value).toBeLessThan(400_000);
    expect(protobufLengthSteps('core/v1.Pod', POD, plat, { most: 1e9 }).next().done).toBe(false);
  });

  test('leaves out what has another type than the field', () => {
    const wrong = {
      metadata: [],
      data: { a: 1 },
      binaryData: { b: {}, c: 'YQ==\n' },
      unknown: 'x'.repeat(1000),
    };
    expect(lengthOf('core/v1.ConfigMap', wrong)).toBeLessThan(100);
    expect(lengthOf('core/v1.Pod', { spec: { containers: {}, tolerations: 'a' } })).toBeLessThan(100);
  });

  test('takes known names of members', () => {
    const data = { a: 'b' };
    const names = new MemberNames();
    names.learn(
      data,
      Array.from({ length: 3000 }, () => 'a'),
    );
    const length = finish(protobufLengthSteps('core/v1.ConfigMap', { data }, plat, { names, most: 1e9 }));
    expect(length).toBeGreaterThan(3000);
  });
});
