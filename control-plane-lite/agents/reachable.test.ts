import { describe, expect, test } from 'vitest';
import { isLoopback, isReachable } from './reachable.ts';

describe('isReachable', () => {
  test.each<[string, boolean, boolean]>([
    ['10.0.0.7', true, true],
    ['192.0.2.1', true, true],
    ['fd00::7', true, true],
    ['127.0.0.1', true, false],
    ['127.9.9.9', true, false],
    ['::1', true, false],
    ['::ffff:127.0.0.1', true, false],
    ['0.0.0.0', false, false],
    ['0.0.0.1', false, false],
    ['::', false, false],
    ['::ffff:0.0.0.0', false, false],
    ['169.254.169.254', false, false],
    ['::ffff:169.254.169.254', false, false],
    ['fe80::1', false, false],
    ['224.0.0.1', false, false],
    ['255.255.255.255', false, false],
    ['ff02::1', false, false],
    ['node-1', false, false],
    ['', false, false],
  ])('%s as the address of an agent: %s, of anything else: %s', (address, agent, other) => {
    expect([isReachable(address, 'agent'), isReachable(address, 'other')]).toEqual([agent, other]);
  });
});

describe('isLoopback', () => {
  test.each([
    ['127.0.0.1', true],
    ['::ffff:127.0.0.1', true],
    ['10.0.0.1', false],
    ['localhost', false],
  ])('%s: %s', (address, expected) => {
    expect(isLoopback(address)).toBe(expected);
  });
});
