import { describe, expect, test } from 'vitest';
import type { Steps } from '#api/kit/steps.ts';
import { finishSteps, turnOf } from './yield.ts';

describe('turnOf', () => {
  test('ends work on a large body at the first turn after its client is gone', async () => {
    const client = new AbortController();
    const gone = new Error('gone');
    let looked = 0;
    function* work(): Steps<string> {
      for (; looked < 1000; looked += 1) {
        if (looked === 10) client.abort(gone);
        yield;
      }
      return 'done';
    }
    await expect(finishSteps(work(), true, turnOf(client))).rejects.toBe(gone);
    expect(looked).toBe(10);
  });
});
