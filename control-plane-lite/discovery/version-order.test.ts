import { assert, oneof, property, string, stringMatching } from 'fast-check';
import { expect, it } from 'vitest';
import { compareVersions } from './version-order.ts';

it('puts stable versions first, then the newer', () => {
  const versions = [
    'foo1',
    'v1alpha2',
    'v12alpha1',
    'v10beta3',
    'v3beta1',
    'v2',
    'v10',
    'v11beta2',
    'foo10',
    'v1',
  ];
  expect(versions.toSorted(compareVersions)).toEqual([
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v1alpha2',
    'foo1',
    'foo10',
  ]);
});

it('is an order', () => {
  const version = oneof(stringMatching(/^v[1-9](?:(?:alpha|beta)[1-9])?$/), string({ maxLength: 3 }));
  assert(
    property(version, version, version, (a, b, c) => {
      expect(Math.sign(compareVersions(a, b)) + Math.sign(compareVersions(b, a))).toBe(0);
      const inOrder = compareVersions(a, b) <= 0 && compareVersions(b, c) <= 0;
      expect(!inOrder || compareVersions(a, c) <= 0).toBe(true);
    }),
  );
});
