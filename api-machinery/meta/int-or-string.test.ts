import { describe, expect, test } from 'vitest';
import { parsePercent, resolveAmount, resolvePort } from './int-or-string.ts';

describe('resolvePort', () => {
  const ports = [
    { name: 'http', containerPort: 8080 },
    { containerPort: 53 },
    { name: '80', containerPort: 81 },
  ];
  test.each([
    [8080, 8080],
    ['http', 8080],
    ['443', 443],
    ['80', 81],
    ['none', undefined],
    ['', undefined],
    [0, undefined],
    [65_536, undefined],
    ['65536', undefined],
    ['-1', undefined],
    [1.5, undefined],
  ])('%j is %j', (port, expected) => expect(resolvePort(port, ports)).toBe(expected));
});

describe('resolveAmount', () => {
  test.each([
    [3, 10, 'up', 3],
    ['25%', 10, 'up', 3],
    ['25%', 10, 'down', 2],
    ['100%', 7, 'down', 7],
    ['0%', 7, 'up', 0],
    ['x', 7, 'up', undefined],
    ['25', 7, 'up', undefined],
  ] as const)('%j of %d rounded %s', (amount, total, rounding, expected) => {
    expect(resolveAmount(amount, total, rounding)).toBe(expected);
  });
  test.each(['-5%', '5.5%', '%', ' 5%', '5 %'])('does not read %j as a percentage', (text) => {
    expect(parsePercent(text)).toBeUndefined();
  });
});
