import { describe, expect, test } from 'vitest';
import { establishingInput, markOf, removingInput, wantedChains } from './packet-rules.ts';

const options = { prefix: 'PLAT', platform: 'plat', bits: { masquerade: 14, drop: 15 }, unmasqueraded: [] };
const chains = wantedChains(options, 'ipv4');

describe('chains', () => {
  test('have the marks of the bits', () => {
    expect([0, 14, 15, 31].map(markOf)).toEqual(['0x1', '0x4000', '0x8000', '0x80000000']);
  });

  test('block packets to loopback addresses in IPv4 only', () => {
    const firewall = (family: 'ipv4' | 'ipv6') =>
      wantedChains(options, family).find(({ name }) => name === 'PLAT-FIREWALL')?.rules.length;
    expect([firewall('ipv4'), firewall('ipv6')]).toEqual([2, 1]);
  });

  test('exempt ranges of their own address family from masquerading', () => {
    const unmasqueraded = [
      { source: '10.88.1.0/24', destination: '10.0.0.0/8' },
      { source: '10.88.1.0/24', destination: '0.0.0.0/0' },
      { source: 'fd00::/64', destination: '10.0.0.0/8' },
    ];
    expect(
      wantedChains({ prefix: 'PLAT', platform: 'plat', bits: undefined, unmasqueraded }, 'ipv4'),
    ).toEqual([
      {
        table: 'nat',
        name: 'PLAT-NON-MASQ',
        rules: ['-s 10.88.1.0/24 -d 10.0.0.0/8 -j ACCEPT', '-s 10.88.1.0/24 -j ACCEPT'],
        from: [{ chain: 'POSTROUTING' }],
      },
    ]);
    expect(
      wantedChains({ prefix: 'PLAT', platform: 'plat', bits: undefined, unmasqueraded }, 'ipv6'),
    ).toEqual([]);
  });
});

describe('establishing input', () => {
  const filter = [
    '*filter',
    ':INPUT ACCEPT [0:0]',
    ':OUTPUT ACCEPT [0:0]',
    ':PLAT-FIREWALL - [0:0]',
    '-A INPUT -j PLAT-FIREWALL',
    'COMMIT',
  ];

  test('fills an empty chain and adds the jump that is missing', () => {
    const input = establishingInput('filter', chains, filter.join('\n'));
    expect(input?.split('\n')).toEqual([
      '*filter',
      ':PLAT-FIREWALL - [0:0]',
      expect.stringContaining('-A PLAT-FIREWALL ! -s 127.0.0.0/8 -d 127.0.0.0/8'),
      expect.stringContaining('--mark 0x8000/0x8000 -j DROP'),
      '-I OUTPUT 1 -j PLAT-FIREWALL',
      'COMMIT',
      '',
    ]);
  });

  test('is undefined for a table that has everything', () => {
    const all = chains.find(({ name }) => name === 'PLAT-FIREWALL')?.rules ?? [];
    const whole = [
      ...filter.slice(0, -1),
      '-A OUTPUT -j PLAT-FIREWALL',
      ...all.map((rule) => `-A PLAT-FIREWALL ${rule}`),
      'COMMIT',
    ];
    expect(establishingInput('filter', chains, whole.join('\n'))).toBeUndefined();
  });
});

describe('removing input', () => {
  test('removes jumps before chains', () => {
    const saved = ['*filter', ':INPUT ACCEPT [0:0]', ':PLAT-FIREWALL - [0:0]', '-A INPUT -j PLAT-FIREWALL'];
    expect(removingInput('filter', 'PLAT', saved.join('\n'))).toBe(
      '*filter\n-D INPUT -j PLAT-FIREWALL\n-F PLAT-FIREWALL\n-X PLAT-FIREWALL\nCOMMIT\n',
    );
  });

  test('leaves a chain to which another program jumps', () => {
    const saved = ['*nat', ':PLAT-MARK-MASQ - [0:0]', ':OTHER - [0:0]', '-A OTHER -j PLAT-MARK-MASQ'];
    expect(removingInput('nat', 'PLAT', saved.join('\n'))).toBeUndefined();
  });

  test('is undefined where nothing was established', () => {
    expect(removingInput('nat', 'PLAT', '*nat\n:POSTROUTING ACCEPT [0:0]\nCOMMIT\n')).toBeUndefined();
  });
});
