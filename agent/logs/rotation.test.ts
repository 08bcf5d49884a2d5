import { describe, expect, test } from 'vitest';
import { planRotation } from './rotation.ts';

const NOW = Date.parse('2026-11-21T10:15:00Z');
const gz = (name: string) => ({ from: name, temporary: `${name}.gz.tmp`, to: `${name}.gz` });
const A = '0.log.20261121-100000';
const B = '0.log.20261121-100500';
const C = '0.log.20261121-101000';

describe('planRotation', () => {
  test.each<[string, readonly string[], number, readonly string[], readonly string[]]>([
    ['moves a first log away', ['0.log'], 5, [], []],
    ['compresses what was rotated last', ['0.log', A], 5, [], [A]],
    ['leaves compressed files alone', ['0.log', `${A}.gz`, B], 5, [], [B]],
    [
      'removes the oldest beyond the limit',
      ['0.log', `${A}.gz`, `${B}.gz`, C],
      3,
      [`${A}.gz`, `${B}.gz`],
      [C],
    ],
    ['keeps one rotated file at the least', ['0.log', A], 2, [A], []],
    ['takes a limit below 2 for 2', ['0.log', A], 1, [A], []],
    ['removes half-written copies', ['0.log', A, `${A}.gz.tmp`], 5, [`${A}.gz.tmp`], [A]],
    ['removes originals whose copy was finished', ['0.log', A, `${A}.gz`], 5, [A], []],
    ['touches no other files', ['0.log', '1.log', `1.log.20261121-100000`, '0.log.bak', 'x'], 2, [], []],
  ])('%s', (_, names, maxFiles, remove, compress) => {
    expect(planRotation({ current: '0.log', names }, { maxFiles }, NOW)).toEqual({
      remove,
      compress: compress.map(gz),
      rename: { from: '0.log', to: '0.log.20261121-101500' },
    });
  });

  test('never uses an existing name', () => {
    const names = ['0.log', '0.log.20261121-101500.gz', '0.log.20261121-101501'];
    expect(planRotation({ current: '0.log', names }, { maxFiles: 5 }, NOW).rename.to).toBe(
      '0.log.20261121-101502',
    );
  });
});
