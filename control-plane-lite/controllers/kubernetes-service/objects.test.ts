import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { addressesOf, addressesWith, endpointsObject, hasMembers, sliceObject, withOwn } from './objects.ts';

describe('addressesWith', () => {
  const mine = { address: '192.0.2.1', shared: true };
  test('adds to those of other servers, and takes away only its own', () => {
    expect(addressesWith(['192.0.2.2'], mine, 1)).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(addressesWith(['192.0.2.1', '192.0.2.2'], mine, 1)).toEqual(['192.0.2.1', '192.0.2.2']);
    expect(addressesWith(['192.0.2.1', '192.0.2.2'], mine, -1)).toEqual(['192.0.2.2']);
  });

  test('is the only one where it has the store for itself', () => {
    expect(addressesWith(['192.0.2.2'], { ...mine, shared: false }, 1)).toEqual(['192.0.2.1']);
  });
});

describe('endpoints', () => {
  const vocabulary = VOCABULARIES.plat;

  test('have the addresses', () => {
    expect(addressesOf(endpointsObject(vocabulary, ['192.0.2.1', '192.0.2.2'], 6443))).toEqual([
      '192.0.2.1',
      '192.0.2.2',
    ]);
    expect(addressesOf(endpointsObject(vocabulary, [], 6443))).toEqual([]);
    expect(addressesOf(undefined)).toEqual([]);
  });

  test('are of the family of their addresses', () => {
    expect(sliceObject(vocabulary, ['2001:db8::1'], 6443)['addressType']).toBe('IPv6');
    expect(sliceObject(vocabulary, ['192.0.2.1'], 6443)['addressType']).toBe('IPv4');
  });
});

describe('hasMembers', () => {
  test.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: 2 }, { a: 1 }, true],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: [{ b: 1, c: 2 }] }, { a: [{ b: 1 }] }, true],
    [{ a: [{ b: 1 }, { b: 2 }] }, { a: [{ b: 1 }] }, false],
    [{ a: 'x' }, { a: { b: 1 } }, false],
    [undefined, { a: 1 }, false],
  ])('%j has %j: %s', (live, wanted, expected) => expect(hasMembers(live, wanted)).toBe(expected));
});

describe('withOwn', () => {
  test('leaves the fields of an existing service unchanged, apart from its ports', () => {
    const found = {
      apiVersion: 'v1',
      kind: 'Service',
      metadata: {},
      spec: { clusterIP: '10.0.0.1', ports: [] },
    };
    const ports = [{ port: 1 }];
    expect(withOwn(found, { spec: { ports } }, { spec: {} })).toEqual({
      ...found,
      spec: { clusterIP: '10.0.0.1', ports },
    });
  });

  test('removes empty members', () => {
    const found = { apiVersion: 'v1', kind: 'Endpoints', metadata: { name: 'a' }, subsets: [{}] };
    expect(withOwn(found, {}, { kind: 'Endpoints', subsets: [] })).toEqual({
      apiVersion: 'v1',
      kind: 'Endpoints',
      metadata: { name: 'a' },
    });
  });
});
