import { describe, expect, test } from 'vitest';
import { createTestRequest } from '../network/request.fixture.ts';
import { bindFrom } from '../sources/bind-source.ts';
import { defineSource } from './source.ts';

const READY = { hostPath: '/x', readOnly: false, seLinuxRelabel: false, changes: false };

describe('bindFrom, if programs must exist before anything starts', () => {
  test.each([
    [
      'names the first that is not',
      ['sh', 'no-such-program-here'],
      true,
      'no-such-program-here is not installed',
    ],
    ['begins when all are', ['sh'], true, undefined],
    ['starts anyway if the check is not requested', ['no-such-program-here'], false, undefined],
  ])('%s', async (_, programs, checksPrograms, failure) => {
    await using world = await createTestRequest();
    let started = false;
    const plugin = defineSource('nfs', { summary: 'x', use: 'pod', programs }, async () => {
      started = true;
      return READY;
    });
    const setUp = bindFrom([plugin], { nfs: { server: 's', path: '/p' } });
    const services = { ...world.request.services, checksPrograms };
    const outcome = await setUp?.({ ...world.request, services }).then(() => 'ready', String);
    expect(outcome).toContain(failure ?? 'ready');
    expect(started).toBe(failure === undefined);
  });
});
