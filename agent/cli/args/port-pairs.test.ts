import { describe, expect, test } from 'vitest';
import { UsageError } from '../errors.ts';
import { parsePortPair } from './port-pairs.ts';

describe('parsePortPair', () => {
  test.each([
    ['8080:80', 8080, 80],
    ['80', 80, 80],
    [':80', 0, 80],
    ['0:80', 0, 80],
    ['65535:65535', 65_535, 65_535],
  ])('reads %s', (text, local, remote) => {
    expect(parsePortPair(text)).toEqual({ local, remote });
  });

  test.each(['', ':', '80:', '0', '1:0', '65536', '1:65536', '65536:1', 'http', '1:2:3', '-1:2', '1.5:2'])(
    'refuses %j',
    (text) => {
      expect(() => parsePortPair(text)).toThrow(UsageError);
    },
  );
});
