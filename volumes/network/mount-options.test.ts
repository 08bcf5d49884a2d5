import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { hasOption, joinMountOptions, optionValue } from './mount-options.ts';

describe('joinMountOptions', () => {
  test.each([
    ['nothing', [], [], []],
    ['one of each', ['hard'], ['ro'], ['hard', 'ro']],
    ['several in one text', ['hard,nfsvers=4.1'], [], ['hard', 'nfsvers=4.1']],
    ['the same twice', ['hard', 'hard', 'soft'], ['hard'], ['soft', 'hard']],
    ['rw against ro: the source wins', ['rw', 'hard'], ['ro'], ['hard', 'ro']],
    ['rw alone', ['rw'], [], ['rw']],
    ['empty ones', ['', 'a,,b'], [], ['a', 'b']],
    ['a comma within quotes', ['context="a,b",hard'], [], ['context="a,b"', 'hard']],
    [
      'options for other programs',
      ['_netdev,nofail', 'x-systemd.automount', 'X-mount.mkdir=0777', 'hard'],
      [],
      ['hard'],
    ],
  ])('%s', (_, ofVolume, ofSource, joined) => {
    expect(joinMountOptions(ofVolume, ofSource)).toEqual(joined);
  });

  it('rejects line breaks', () => {
    expect(() => joinMountOptions(['hard\nsoft'], [])).toThrow('is not allowed');
  });

  it('contains each option once, and all of the source', () => {
    const options = fc.array(fc.stringMatching(/^[a-z]{1,3}(=[a-z]{1,2})?$/));
    fc.assert(
      fc.property(options, options, (ofVolume, ofSource) => {
        const joined = joinMountOptions(ofVolume, ofSource);
        expect(new Set(joined).size).toBe(joined.length);
        expect(joined).toEqual(expect.arrayContaining([...ofSource]));
      }),
    );
  });
});

describe('hasOption', () => {
  it('matches an option with and without a value, and no other with the same prefix', () => {
    expect(hasOption(['vers=3.0'], 'vers')).toBe(true);
    expect(hasOption(['vers'], 'vers')).toBe(true);
    expect(hasOption(['version=3'], 'vers')).toBe(false);
  });
});

describe('optionValue', () => {
  it.each(['', 'a,b', 'a b', 'a"b', "a'b", 'a\\b', 'a\nb', 'a\u0000b'])('rejects %j', (text) => {
    expect(() => optionValue('cephfs.user', text)).toThrow('cephfs.user');
  });

  it('accepts other text', () => {
    expect(optionValue('cephfs.user', 'ad-min.1')).toBe('ad-min.1');
  });
});
