import { describe, expect, test } from 'vitest';
import type { NodeAddress } from '#api/gen/core-v1.ts';
import { createServingNames, namesOfAddresses } from './serving-names.ts';

const address = (type: string, text: string): NodeAddress => ({ type, address: text });
const OWN = { dnsNames: ['n1'], ipAddresses: ['192.0.2.1'] };

describe('namesOfAddresses', () => {
  test.each<[string, readonly NodeAddress[], object]>([
    ['none', [], { dnsNames: [], ipAddresses: [] }],
    [
      'names and addresses, whatever their types and order',
      [
        address('InternalDNS', 'n1.internal'),
        address('ExternalIP', '2001:db8::1'),
        address('InternalIP', '192.0.2.1'),
        address('Hostname', 'n1'),
      ],
      { dnsNames: ['n1', 'n1.internal'], ipAddresses: ['192.0.2.1', '2001:db8::1'] },
    ],
    [
      'a host name that is an address',
      [address('InternalIP', '192.0.2.1'), address('Hostname', '192.0.2.1')],
      { dnsNames: [], ipAddresses: ['192.0.2.1'] },
    ],
    [
      'what is no name of a host',
      [address('ExternalDNS', '*.example.com'), address('Hostname', 'a,DNS:b'), address('Hostname', '')],
      { dnsNames: [], ipAddresses: [] },
    ],
  ])('%s', (_what, addresses, names) => {
    expect(namesOfAddresses(addresses)).toEqual(names);
  });
});

describe('createServingNames', () => {
  function setUp() {
    let current: readonly NodeAddress[] = [];
    const listeners = new Set<() => void>();
    const names = createServingNames(
      {
        current: () => current,
        onChange(listener) {
          listeners.add(listener);
          return () => listeners.delete(listener);
        },
      },
      OWN,
    );
    let changes = 0;
    const end = names.onChange(() => (changes += 1));
    const emit = (addresses: readonly NodeAddress[]): void => {
      current = addresses;
      for (const listener of listeners) listener();
    };
    return { names, emit, end, changes: () => changes };
  }
  const first = [address('Hostname', 'n1'), address('InternalIP', '192.0.2.1')];
  const moved = [address('Hostname', 'n1'), address('InternalIP', '192.0.2.9')];

  test('reports changed addresses once, even after an earlier query', () => {
    const { names, emit, changes } = setUp();
    emit(first);
    expect([names.current(), changes()]).toEqual([OWN, 0]);
    emit(moved);
    names.current();
    emit(moved.toReversed());
    expect([names.current(), changes()]).toEqual([{ ...OWN, ipAddresses: ['192.0.2.9'] }, 1]);
  });

  test('retains the names of a deleted node, and works without listeners', () => {
    const { names, emit, end, changes } = setUp();
    emit(moved);
    emit([]);
    expect(names.current().ipAddresses).toEqual(['192.0.2.9']);
    end();
    emit(first);
    expect([names.current(), changes()]).toEqual([OWN, 1]);
  });
});
