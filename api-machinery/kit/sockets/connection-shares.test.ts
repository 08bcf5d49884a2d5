import { describe, expect, test } from 'vitest';
import { clientNetwork, createConnectionShares } from './connection-shares.ts';

const fill = (shares: ReturnType<typeof createConnectionShares>, address: string, count: number) =>
  Array.from({ length: count }, (_, n) => shares.arrive(`${address} ${n}`, address));

describe('createConnectionShares', () => {
  test('accepts connections up to the limit', () => {
    const shares = createConnectionShares({ most: 8 });
    expect(fill(shares, 'a', 6)).toEqual(Array.from({ length: 6 }));
    expect(fill(shares, 'b', 2)).toEqual([undefined, undefined]);
    expect(shares.size).toBe(8);
  });

  test('limits an address to its share, and replaces its oldest connection with the newest', () => {
    const shares = createConnectionShares({ most: 8 });
    fill(shares, 'a', 6);
    expect(shares.arrive('a 6', 'a')).toBe('a 0');
    expect(shares.arrive('a 7', 'a')).toBe('a 1');
    expect(shares.size).toBe(6);
  });

  test('accepts a new connection in place of the oldest of the fullest address', () => {
    const shares = createConnectionShares({ most: 8 });
    fill(shares, 'b', 2);
    fill(shares, 'a', 6);
    expect(shares.arrive('c 0', 'c')).toBe('a 0');
    expect(shares.arrive('a 6', 'a')).toBe('a 1');
    expect(shares.size).toBe(8);
  });

  test('never replaces authenticated connections', () => {
    const shares = createConnectionShares({ most: 4, mostPerAddress: 3 });
    fill(shares, 'a', 3);
    for (const n of [0, 2]) shares.prove(`a ${n}`);
    expect(shares.arrive('a 3', 'a')).toBe('a 1');
    shares.prove('a 3');
    expect(shares.arrive('a 4', 'a')).toBe('a 4');
    expect(shares.arrive('b 0', 'b')).toBeUndefined();
    shares.prove('b 0');
    expect(shares.arrive('c 0', 'c')).toBe('c 0');
    expect(shares.size).toBe(4);
  });

  test('frees the slots of closed connections', () => {
    const shares = createConnectionShares({ most: 2, mostPerAddress: 2 });
    fill(shares, 'a', 2);
    for (const n of [0, 1]) shares.prove(`a ${n}`);
    shares.leave('a 0');
    shares.leave('a 0');
    shares.leave('nobody');
    expect(shares.arrive('b 0', 'b')).toBeUndefined();
    expect(shares.size).toBe(2);
  });
});

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['::1', '0:0:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1:2:3:4:5', '2001:db8:0:1::/64'],
])('clients at %s are of %s', (address, network) => {
  expect(clientNetwork(address)).toBe(network);
});
