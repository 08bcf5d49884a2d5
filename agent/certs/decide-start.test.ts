import { describe, expect, test } from 'vitest';
import { decideStart } from './decide-start.ts';

describe('decideStart', () => {
  test.each([
    ['good', true, 'use'],
    ['good', false, 'use'],
    ['missing', true, 'bootstrap'],
    ['broken', true, 'bootstrap'],
    ['expired', true, 'bootstrap'],
    ['missing', false, 'fail'],
    ['broken', false, 'fail'],
    ['expired', false, 'fail-expired'],
  ] as const)('platconfig %s, bootstrap %s: %s', (platconfig, hasBootstrap, expected) => {
    expect(decideStart({ platconfig, hasBootstrap })).toBe(expected);
  });
});
