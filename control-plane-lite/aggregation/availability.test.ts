import { describe, expect, test } from 'vitest';
import type { APIServiceCondition } from '#api/gen/apiregistration-v1.ts';
import { verdictOf, withVerdict } from './availability.ts';

const BEFORE = '2026-11-21T12:00:00Z';
const NOW = '2026-11-21T12:00:05Z';
const passed = verdictOf({ kind: 'passed' });
const failed = verdictOf({ kind: 'failedDiscovery', url: 'https://s', problem: 'bad status 500' });

describe('withVerdict', () => {
  const known = (condition: Partial<APIServiceCondition>): APIServiceCondition => ({
    type: 'Available',
    ...passed,
    lastTransitionTime: BEFORE,
    ...condition,
  });

  test('adds the condition', () => {
    expect(withVerdict(undefined, passed, NOW)).toEqual({ conditions: [known({ lastTransitionTime: NOW })] });
  });

  test('does not change an equal condition', () => {
    expect(withVerdict({ conditions: [known({})] }, passed, NOW)).toBeUndefined();
  });

  test('keeps the time of the last change of status', () => {
    const other = { type: 'Other', status: 'True' };
    const renewed = withVerdict({ conditions: [other, known({ reason: 'Why' })] }, passed, NOW);
    expect(renewed).toEqual({ conditions: [other, known({})] });
    expect(withVerdict({ conditions: [known({})] }, failed, NOW)).toEqual({
      conditions: [
        {
          type: 'Available',
          status: 'False',
          reason: 'FailedDiscoveryCheck',
          message: 'failing or missing response from https://s: bad status 500',
          lastTransitionTime: NOW,
        },
      ],
    });
  });
});
