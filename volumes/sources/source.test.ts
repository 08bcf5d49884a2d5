import { describe, expect, test } from 'vitest';
import { createTestRequest } from '../network/test-request.ts';
import { bindFrom, defineSource } from './source.ts';

const READY = { hostPath: '/x', readOnly: false, seLinuxRelabel: false, changes: false };

describe('bindFrom, where programs have to be there before anything is begun', () => {
  test.each([
    [
      'names the first that is not',
      ['sh', 'no-such-program-here'],
      true,
      'no-such-program-here is not installed',
    ],
    ['begins when all are', ['sh'], true, undefined],
    ['begins anyway where that is not asked for', ['no-such-program-here'], false, undefined],
  ])('%s', async (_, programs, checksPrograms, failure) => {
    await using world = await createTestRequest();
    let begun = false;
    const plugin = defineSource('nfs', { summary: 'x', use: 'pod', programs }, async () => {
      begun = true;
      return READY;
    });
    const setUp = bindFrom([plugin], { nfs: { server: 's', path: '/p' } });
    const services = { ...world.request.services, checksPrograms };
    const outcome = await setUp?.({ ...world.request, services }).then(() => 'ready', String);
    expect(outcome).toContain(failure ?? 'ready');
    expect(begun).toBe(failure === undefined);
  });
});
