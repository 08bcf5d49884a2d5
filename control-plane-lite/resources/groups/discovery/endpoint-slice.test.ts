import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import {
  type Changes,
  type ErrorRow,
  errorsOf,
  type KindSubject,
  objectWith,
  rowOf,
  updateFaultsOf,
} from '../kind.fixture.ts';
import { endpointSlice } from './endpoint-slice.ts';

describe('an endpoint slice', () => {
  const subject: KindSubject = {
    typeRef: `discovery.${VOCABULARIES.plat.apiGroupDomain}/v1.EndpointSlice`,
    entry: endpointSlice,
    base: {
      metadata: { name: 'web-1', namespace: 'default', creationTimestamp: '2026-11-21T11:59:00Z' },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], nodeName: 'n' }],
      ports: [{ port: 80 }],
    },
  };
  const endpoint = (value: object): Changes => ({ endpoints: [{ addresses: ['10.0.0.1'], ...value }] });
  const addresses = (type: string, ...list: readonly string[]): Changes => ({
    addressType: type,
    endpoints: [{ addresses: list }],
  });
  const many = (count: number): readonly string[] => Array.from({ length: count }, (_, index) => `k${index}`);
  const AT = 'endpoints[0]';

  test.each<ErrorRow>([
    ['is right', {}, []],
    ['empty', { endpoints: [], ports: undefined }, []],
    ['too long', { endpoints: many(1001).map(() => ({ addresses: ['10.0.0.1'] })) }, ['endpoints TooMany']],
    ['without addresses', addresses('IPv4'), [`${AT}.addresses Required`]],
    [
      'with many addresses',
      addresses('IPv4', ...many(101).map(() => '10.0.0.1')),
      [`${AT}.addresses TooMany`],
    ],
    ['of the other family', addresses('IPv4', '::1:2'), [`${AT}.addresses[0] Invalid`]],
    ['of IPv6', addresses('IPv6', 'fd00::1', '10.0.0.1'), [`${AT}.addresses[1] Invalid`]],
    [
      'of special addresses',
      addresses('IPv4', '127.0.0.1', '169.254.1.1', '0.0.0.0', '224.0.0.1'),
      [0, 1, 2, 3].map((index) => `${AT}.addresses[${index}] Invalid`),
    ],
    [
      'of names',
      addresses('FQDN', 'a.example.com', 'a.b.', 'a', 'a_b.c'),
      [`${AT}.addresses[2] Invalid`, `${AT}.addresses[3] Invalid`],
    ],
    [
      'with broken names',
      endpoint({ nodeName: '_', hostname: 'a.b' }),
      [`${AT}.nodeName Invalid`, `${AT}.hostname Invalid`],
    ],
    [
      'with a broken topology',
      endpoint({ deprecatedTopology: { a: '-' } }),
      [`${AT}.deprecatedTopology[a] Invalid`],
    ],
    [
      'with a large topology',
      endpoint({
        deprecatedTopology: Object.fromEntries(many(17).map((key) => [key, ''])),
      }),
      [`${AT}.deprecatedTopology TooMany`],
    ],
    [
      'with hints',
      endpoint({ hints: { forZones: [{ name: 'a' }, { name: 'a' }, { name: '' }] } }),
      [`${AT}.hints.forZones[1].name Duplicate`, `${AT}.hints.forZones[2].name Required`],
    ],
    [
      'with many hints',
      endpoint({ hints: { forZones: many(9).map((name) => ({ name })) } }),
      [`${AT}.hints.forZones TooMany`],
    ],
    ['with ports', { ports: [{ name: 'a', port: 1, appProtocol: 'example.com/x' }, { name: 'b' }] }, []],
    [
      'with broken ports',
      { ports: [{ name: 'a', port: 0, appProtocol: '-' }, { name: 'a' }, { name: 'a_b' }] },
      [
        'ports[0].port Invalid',
        'ports[0].appProtocol Invalid',
        'ports[1].name Duplicate',
        'ports[2].name Invalid',
      ],
    ],
    ['with many ports', { ports: many(101).map((name) => ({ name })) }, ['ports TooMany']],
  ])('%s', (_, changes, expected) => expect(errorsOf(subject, changes)).toEqual(expected));

  test.each<ErrorRow>([
    ['endpoints', { endpoints: [] }, []],
    ['type', { addressType: 'FQDN' }, ['addressType Invalid']],
  ])('changing its %s', (_, changes, expected) => expect(updateFaultsOf(subject, changes)).toEqual(expected));

  it('has a new generation when content or labels change', () => {
    const changed = (changes: Changes): boolean | undefined =>
      endpointSlice.strategy.generationChanged?.(objectWith(subject, changes), objectWith(subject));
    expect(changed({ 'metadata.annotations': { a: 'b' } })).toBe(false);
    expect(changed({ 'metadata.labels': { a: 'b' } })).toBe(true);
    expect(changed({ ports: [] })).toBe(true);
  });

  it('has a row', () => {
    expect(rowOf(subject)).toEqual(['web-1', 'IPv4', '80', '10.0.0.1', '60s']);
    expect(rowOf(subject, { ports: [], endpoints: [] }).slice(2, 4)).toEqual(['<unset>', '<unset>']);
    const four = addresses('IPv4', '10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4');
    expect(rowOf(subject, four)[3]).toBe('10.0.0.1,10.0.0.2,10.0.0.3 + 1 more...');
  });
});
