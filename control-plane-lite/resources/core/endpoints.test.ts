import { describe, expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { endpointsKind } from './endpoints.ts';
import { createFaultsOf, NOW_MS, objectOf } from './strategy.fixture.ts';

const endpoints = (...subsets: readonly object[]): ApiObject =>
  objectOf('core/v1.Endpoints', { metadata: { name: 'web', namespace: 'default' }, subsets });
const ADDRESSES = [{ ip: '10.0.0.1' }];

describe('Endpoints', () => {
  test.each<[string, object, readonly string[]]>([
    ['take addresses', { addresses: ADDRESSES, ports: [{ port: 80 }] }, []],
    [
      'take some that are not ready',
      { notReadyAddresses: [{ ip: 'fd00::1', hostname: 'a', nodeName: 'n' }] },
      [],
    ],
    ['want addresses', { ports: [{ port: 80 }] }, ['FieldValueRequired subsets[0]']],
    ['check addresses', { addresses: [{ ip: 'x' }] }, ['FieldValueInvalid subsets[0].addresses[0].ip']],
    [
      'take no special ones',
      { notReadyAddresses: [{ ip: '127.0.0.1' }] },
      ['FieldValueInvalid subsets[0].notReadyAddresses[0].ip'],
    ],
    [
      'check host names',
      { addresses: [{ ip: '10.0.0.1', hostname: 'a.b' }] },
      ['FieldValueInvalid subsets[0].addresses[0].hostname'],
    ],
    [
      'check nodes',
      { addresses: [{ ip: '10.0.0.1', nodeName: 'A' }] },
      ['FieldValueInvalid subsets[0].addresses[0].nodeName'],
    ],
    [
      'check ports',
      { addresses: ADDRESSES, ports: [{ port: 0 }] },
      ['FieldValueInvalid subsets[0].ports[0].port'],
    ],
    [
      'check names',
      { addresses: ADDRESSES, ports: [{ port: 1, name: 'A' }] },
      ['FieldValueInvalid subsets[0].ports[0].name'],
    ],
    [
      'check protocols',
      { addresses: ADDRESSES, ports: [{ port: 1, appProtocol: 'a b' }] },
      ['FieldValueInvalid subsets[0].ports[0].appProtocol'],
    ],
    [
      'want names of several ports',
      { addresses: ADDRESSES, ports: [{ port: 1 }, { port: 2, name: 'b' }] },
      ['FieldValueRequired subsets[0].ports[0].name'],
    ],
  ])('%s', (_, subset, errors) => {
    expect(createFaultsOf(endpointsKind, endpoints(subset))).toEqual(errors);
  });

  const ips = (...last: readonly number[]): object[] => last.map((byte) => ({ ip: `10.0.0.${byte}` }));
  test.each<[readonly object[], string]>([
    [[], '<none>'],
    [[{ notReadyAddresses: ips(1), ports: [{ port: 80 }] }], '<none>'],
    [[{ addresses: ips(1, 2) }], '10.0.0.1,10.0.0.2'],
    [[{ addresses: [{ ip: 'fd00::1' }], ports: [{ port: 80 }] }], '[fd00::1]:80'],
    [[{ addresses: ips(1, 2, 3), ports: [{ port: 80 }] }], '10.0.0.1:80,10.0.0.2:80,10.0.0.3:80'],
    [
      [
        {
          addresses: ips(1, 2),
          ports: [
            { name: 'a', port: 80 },
            { name: 'b', port: 81 },
          ],
        },
      ],
      '10.0.0.1:80,10.0.0.2:80,10.0.0.1:81 + 1 more...',
    ],
    [[{ addresses: ips(1, 2) }, { addresses: ips(3, 4, 5) }], '10.0.0.1,10.0.0.2,10.0.0.3 + 2 more...'],
  ])('of %j show %s', (subsets, text) => {
    const row = endpointsKind.strategy.row?.(endpoints(...subsets), {
      nowMs: NOW_MS,
      vocabulary: VOCABULARIES.plat,
    });
    expect(row).toEqual(['web', text, '<unknown>']);
  });
});
