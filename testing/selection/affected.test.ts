import { describe, expect, test } from 'vitest';
import { type Candidate, type Dependency, dependentsOf, selectWithin } from './affected.ts';

const imports = (from: string, to: string): Dependency => ({ from, to, isMention: false });
const mentions = (from: string, to: string): Dependency => ({ from, to, isMention: true });

describe('files that depend on a change', () => {
  const edges = [
    imports('a.test', 'a'),
    imports('b', 'a'),
    imports('a', 'b'),
    imports('b.test', 'b'),
    imports('other.test', 'other'),
    mentions('started.test', 'b'),
    imports('far.test', 'started.test'),
  ];

  test('are found through all imports, with the shortest distance, in cycles too', () => {
    expect(Object.fromEntries(dependentsOf(edges, ['a']))).toEqual({
      a: 0,
      'a.test': 1,
      b: 1,
      'b.test': 2,
      'started.test': 101,
      'far.test': 102,
    });
  });

  test('are the changed files themselves if nothing imports them', () => {
    expect([...dependentsOf(edges, ['other.test', 'unknown'])]).toEqual([
      ['other.test', 0],
      ['unknown', 0],
    ]);
    expect(dependentsOf(edges, []).size).toBe(0);
  });
});

describe('tests within a time', () => {
  const of = (file: string, distance: number, ms: number): Candidate => ({ file, distance, ms });

  test('are the nearest, then the fastest', () => {
    const all = [of('slow', 1, 60), of('far', 2, 10), of('fast', 1, 30), of('farther', 3, 50)];
    expect(selectWithin(all, 100)).toEqual({ run: ['fast', 'slow', 'far'], left: ['farther'] });
  });

  test('leave out a slow one and take a fast one that is farther', () => {
    expect(selectWithin([of('slow', 1, 200), of('far', 2, 10)], 100)).toEqual({
      run: ['far'],
      left: ['slow'],
    });
  });

  test('are listed in the order of their distance', () => {
    const all = [of('far and slow', 3, 500), of('changed and slow', 0, 500), of('changed', 0, 1)];
    expect(selectWithin(all, 100)).toEqual({
      run: ['changed'],
      left: ['changed and slow', 'far and slow'],
    });
  });
});
