import { Buffer } from 'node:buffer';
import { assert, integer, property, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { commitOf, mark, PLACES, revisionOf, unmark, wholeCommitAt } from './revisions.ts';

const commits = integer({ min: 1, max: 2 ** 40 });
const places = integer({ min: 0, max: PLACES - 1 });

describe('revisions', () => {
  test('rise within a commit and from one to the next, and identify their commit', () => {
    assert(
      property(commits, places, (commit, behind) => {
        const revision = revisionOf(commit, behind);
        expect(commitOf(revision)).toBe(commit);
        expect(wholeCommitAt(revision)).toBe(behind === 0 ? commit : commit - 1);
        expect(revision).toBeGreaterThan(revisionOf(commit - 1));
        expect(revision).toBeLessThanOrEqual(revisionOf(commit));
        expect(revisionOf(commit, behind + 1)).toBe(revision - 1);
      }),
    );
  });
});

describe('mark', () => {
  test('restores any value, and its place', () => {
    assert(
      property(uint8Array(), places, (array, behind) => {
        const value = Buffer.from(array);
        expect(unmark(mark({ value, behind }))).toEqual({ value, behind });
      }),
    );
  });

  test('leaves the last of a commit as it is', () => {
    const value = Buffer.from('{"kind":"Pod"}');
    expect(mark({ value, behind: 0 })).toBe(value);
    expect(mark({ value: Buffer.alloc(0), behind: 0 })).toHaveLength(0);
  });

  test('takes no value for marked that only looks like it', () => {
    const value = Buffer.from([0, 5, 1]);
    expect(unmark(mark({ value, behind: 0 }))).toEqual({ value, behind: 0 });
  });
});
