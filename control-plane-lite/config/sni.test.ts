import { describe, expect, test } from 'vitest';
import { chooseByName, parseSniValue } from './sni.ts';

describe('chooseByName', () => {
  const choose = chooseByName([
    { value: 'from certificate', names: [], certificateNames: ['a.org', 'own.org', '*.wild.org'] },
    { value: 'first', names: ['*.a.org', 'a.org'], certificateNames: ['unused.org'] },
    { value: 'second', names: ['*.a.org', 'x.a.org'], certificateNames: [] },
  ]);
  test.each([
    ['x.a.org', 'second'],
    ['y.a.org', 'first'],
    ['Y.A.ORG.', 'first'],
    ['a.org', 'first'],
    ['own.org', 'from certificate'],
    ['b.wild.org', 'from certificate'],
    ['c.b.wild.org', undefined],
    ['unused.org', undefined],
    ['localhost', undefined],
    ['', undefined],
  ])('%j: %s', (name, value) => {
    expect(choose(name)).toBe(value);
  });
});

test('parseSniValue reads files and names, without blanks', () => {
  expect(parseSniValue(' a.crt , a.key : *.a.org , b.org ')).toEqual({
    pair: { certFile: 'a.crt', keyFile: 'a.key', names: ['*.a.org', 'b.org'] },
  });
});
