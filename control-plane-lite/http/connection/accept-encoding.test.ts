import { expect, test } from 'vitest';
import { acceptsGzip } from './accept-encoding.ts';

test.each([
  ['gzip', true],
  ['deflate, gzip', true],
  ['GZIP;q=0.5', true],
  ['gzip ; q = 1.0', true],
  ['*', true],
  ['gzip;q=0', false],
  ['gzip;q=0.000', false],
  ['deflate, gzip;q=0, br', false],
  ['identity', false],
  ['xgzip', false],
  ['', false],
  [undefined, false],
])('acceptsGzip(%j) is %s', (header, accepted) => {
  expect(acceptsGzip(header)).toBe(accepted);
});
