import { describe, expect, test } from 'vitest';
import { CONTROLLER_NAMES, chooseControllers, unknownControllers } from './names.ts';

const all = (...without: readonly string[]): readonly string[] =>
  CONTROLLER_NAMES.filter((name) => !without.includes(name));

describe('chooseControllers', () => {
  test.each<[readonly string[], readonly string[]]>([
    [['*'], all()],
    [[], []],
    [
      ['job', 'replicaset'],
      ['job', 'replicaset'],
    ],
    [['*', '-job'], all('job')],
    [['-job', '*'], all('job')],
    [['-job'], []],
    [['job', '-job'], ['job']],
    [['*', '-job', 'job'], all('job')],
  ])('%j', (words, expected) => {
    expect([...chooseControllers(words)]).toEqual(expected);
  });
});

test('unknownControllers returns the elements that name no controller', () => {
  expect(unknownControllers(['*', 'job', '-job', 'jobs', '-nothing', '-*'])).toEqual([
    'jobs',
    '-nothing',
    '-*',
  ]);
});
