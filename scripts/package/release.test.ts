import { describe, expect, test } from 'vitest';
import { decideRelease, type ReleaseFacts } from './release.ts';

const FACTS: ReleaseFacts = {
  packageVersion: '0.1.0',
  tag: undefined,
  commit: '0123456789abcdef0123456789abcdef01234567',
  commitSeconds: Date.UTC(2026, 0, 2) / 1000,
  epoch: undefined,
};

describe('decideRelease', () => {
  test('a tagged commit has the version of its tag', () => {
    expect(decideRelease({ ...FACTS, tag: 'v0.1.0', epoch: '42' })).toEqual({
      version: '0.1.0',
      debianVersion: '0.1.0',
      commit: FACTS.commit,
      mtimeSeconds: 42,
    });
  });

  test('another commit precedes the release, also for dpkg', () => {
    expect(decideRelease(FACTS)).toMatchObject({
      version: '0.1.0+git20260102.0123456',
      debianVersion: '0.1.0~git20260102.0123456',
      mtimeSeconds: FACTS.commitSeconds,
    });
  });

  test.each([
    [{ tag: 'v0.2.0' }, 'tag v0.2.0, but package.json has version 0.1.0'],
    [{ epoch: 'now' }, 'SOURCE_DATE_EPOCH'],
  ])('%j is rejected', (change, message) => {
    expect(() => decideRelease({ ...FACTS, ...change })).toThrow(message);
  });
});
