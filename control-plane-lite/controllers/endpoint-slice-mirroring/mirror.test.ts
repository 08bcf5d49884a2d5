import { describe, expect, test } from 'vitest';
import type { Endpoints, Service } from '#api/gen/core-v1.ts';
import { isMirrored, type MirrorNames, MOST_MIRRORED, mirroredGroups, mirroredMetadata } from './mirror.ts';

const names: MirrorNames = {
  skipLabel: 'slice/skip',
  serviceLabel: 'service-name',
  managerLabel: 'managed-by',
  manager: 'mirroring',
  leaderAnnotation: 'leader',
  ownAnnotations: ['changed-at'],
};
const endpoints = (more: Endpoints = {}): Endpoints => ({
  metadata: { name: 'web', ...more.metadata },
  ...more,
});
const manual: Service = { spec: { ports: [{ port: 80 }] } };

describe('mirroring', () => {
  test.each<[string, Service | undefined, Endpoints, boolean]>([
    ['a service without a selector', manual, endpoints(), true],
    ['no service', undefined, endpoints(), false],
    ['a service with a selector', { spec: { selector: { a: 'b' } } }, endpoints(), false],
    ['a label that forbids it', manual, endpoints({ metadata: { labels: { 'slice/skip': 'true' } } }), false],
    ['a label that does not', manual, endpoints({ metadata: { labels: { 'slice/skip': 'no' } } }), true],
    ['a lock of a leader', manual, endpoints({ metadata: { annotations: { leader: '{}' } } }), false],
  ])('%s', (_, service, object, expected) => {
    expect(isMirrored(service, object, names)).toBe(expected);
  });

  test('addresses are grouped by family and ports, each with its readiness', () => {
    const ports = [{ name: 'http', port: 80 }];
    const groups = mirroredGroups({
      subsets: [
        { addresses: [{ ip: '192.0.2.1', nodeName: 'n1' }], notReadyAddresses: [{ ip: '192.0.2.2' }], ports },
        { addresses: [{ ip: '2001:db8::1', hostname: 'db-0' }, { ip: 'nonsense' }], ports },
        { addresses: [{ ip: '192.0.2.3' }], ports },
        { addresses: [{ ip: '192.0.2.4' }], ports: [{ port: 53, protocol: 'UDP' }] },
      ],
    });
    const shown = [...groups.values()].map(({ addressType, ports: [port], endpoints: all }) => [
      addressType,
      port,
      [...all.values()],
    ]);
    const http = { name: 'http', port: 80, protocol: 'TCP' };
    expect(shown).toEqual([
      [
        'IPv4',
        http,
        [
          { addresses: ['192.0.2.1'], conditions: { ready: true }, nodeName: 'n1' },
          { addresses: ['192.0.2.2'], conditions: { ready: false } },
          { addresses: ['192.0.2.3'], conditions: { ready: true } },
        ],
      ],
      ['IPv6', http, [{ addresses: ['2001:db8::1'], conditions: { ready: true }, hostname: 'db-0' }]],
      [
        'IPv4',
        { name: '', port: 53, protocol: 'UDP' },
        [{ addresses: ['192.0.2.4'], conditions: { ready: true } }],
      ],
    ]);
  });

  test('of a very large subset only so many are mirrored, ready ones first', () => {
    const many = (third: number) =>
      Array.from({ length: 800 }, (_, index) => ({ ip: `10.${third}.${index >> 8}.${index & 255}` }));
    const [group] = mirroredGroups({
      subsets: [{ addresses: many(1), notReadyAddresses: many(2), ports: [{ port: 80 }] }],
    }).values();
    const all = [...(group?.endpoints.values() ?? [])];
    expect([all.length, all.filter(({ conditions }) => conditions?.ready === true).length]).toEqual([
      MOST_MIRRORED,
      800,
    ]);
  });

  test('labels and annotations are taken over, without those that are about the Endpoints alone', () => {
    const metadata = { name: 'web', labels: { a: 'b' }, annotations: { note: 'x', 'changed-at': 'now' } };
    expect(mirroredMetadata({ metadata }, names)).toEqual({
      labels: { a: 'b', 'service-name': 'web', 'managed-by': 'mirroring' },
      annotations: { note: 'x' },
    });
  });
});
