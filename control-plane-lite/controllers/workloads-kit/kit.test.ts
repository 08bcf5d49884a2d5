import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Condition, withCondition } from './conditions.ts';
import { createExpectations } from './expectations.ts';
import { podOf } from './kit.fixture.ts';
import { isActive, isAvailable, untilAvailableMs } from './pod-facts.ts';
import { podFromTemplate } from './pod-writer.ts';
import { slowStart } from './slow-start.ts';
import { hashWord } from './template-hash.ts';

describe('slowStart', () => {
  test.each([
    [0, []],
    [1, [1]],
    [7, [1, 2, 4]],
    [10, [1, 2, 4, 3]],
    [30, [1, 2, 4, 8, 8, 7]],
  ])('makes %d in batches of %j', async (count, batches) => {
    const seen: number[] = [];
    let open = 0;
    const { succeeded } = await slowStart(
      count,
      async () => {
        open += 1;
        await Promise.resolve();
        if (open > 0) seen.push(open);
        open = 0;
      },
      8,
    );
    expect(succeeded).toBe(count);
    expect(seen).toEqual(batches);
  });

  test('begins nothing after a batch in which something failed', async () => {
    const calls: number[] = [];
    const result = await slowStart(100, (index) => {
      calls.push(index);
      return index === 2 ? Promise.reject(new Error('no')) : Promise.resolve();
    });
    expect(calls).toEqual([0, 1, 2]);
    expect(result).toMatchObject({ succeeded: 2, error: { message: 'no' } });
  });
});

describe('hashWord', () => {
  test('does not depend on the order of members, and differs between values', () => {
    expect(hashWord({ a: 1, b: { c: [1, 2] } })).toBe(hashWord({ b: { c: [1, 2] }, a: 1 }));
    expect(hashWord({ a: [1, 2] })).not.toBe(hashWord({ a: [2, 1] }));
    expect(hashWord({ a: 1 }, 1)).not.toBe(hashWord({ a: 1 }));
  });

  test('is a short word for names', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(hashWord(value)).toMatch(/^[a-z0-9]{1,10}$/);
      }),
    );
  });
});

describe('expectations', () => {
  test('wait for the cache once something was written, and only then', async () => {
    let calls = 0;
    const expectations = createExpectations({
      waitForNewest() {
        calls += 1;
        return calls === 1 ? Promise.reject(new Error('away')) : Promise.resolve();
      },
    });
    await expectations.met('a');
    expect(calls).toBe(0);
    expectations.expect('a');
    await expectations.met('b');
    await expect(expectations.met('a')).rejects.toThrow('away');
    await expectations.met('a');
    await expectations.met('a');
    expect(calls).toBe(2);
  });
});

describe('pods', () => {
  test.each([
    ['Running', false, true],
    ['Pending', false, true],
    ['Unknown', false, true],
    ['Succeeded', false, false],
    ['Failed', false, false],
    ['Running', true, false],
  ])('%s, on its way out %j: counts %j', (phase, deleting, expected) => {
    expect(isActive({ phase, deleting })).toBe(expected);
  });

  test('are available after they were ready for long enough', () => {
    const pod = podOf('a', { readySinceMs: 1000 });
    expect(isAvailable(pod, 0, 0)).toBe(true);
    expect(isAvailable(pod, 2, 2999)).toBe(false);
    expect(isAvailable(pod, 2, 3000)).toBe(true);
    expect(isAvailable({ ...pod, ready: false }, 0, 3000)).toBe(false);
    expect(untilAvailableMs([pod, podOf('b', { readySinceMs: 500 })], 2, 1000)).toBe(1500);
    expect(untilAvailableMs([pod], 2, 3000)).toBeUndefined();
  });

  test('are made of templates, and share nothing with them', () => {
    const template = {
      metadata: { labels: { app: 'a' }, annotations: { x: 'y' } },
      spec: { containers: [{ name: 'main', image: 'i' }] },
    };
    const owner = { apiVersion: 'v1', kind: 'X', metadata: { name: 'web', namespace: 'ns' } };
    const reference = { apiVersion: 'v1', kind: 'X', name: 'web', uid: 'u' };
    const pod = podFromTemplate(template, owner, reference, { labels: { hash: 'h' }, finalizers: ['f'] });
    expect(pod).toEqual({
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        generateName: 'web-',
        namespace: 'ns',
        labels: { app: 'a', hash: 'h' },
        annotations: { x: 'y' },
        ownerReferences: [reference],
        finalizers: ['f'],
      },
      spec: template.spec,
    });
    expect(pod['spec']).not.toBe(template.spec);
  });
});

describe('withCondition', () => {
  const base: Condition = {
    type: 'Ready',
    status: 'True',
    reason: 'A',
    message: 'm',
    lastTransitionTime: 't1',
  };
  const other: Condition = { type: 'Other', status: 'False' };

  test('leaves equal statuses unchanged', () => {
    const before = [base, other];
    expect(withCondition(before, { ...base, message: 'n', lastTransitionTime: 't2' })).toBe(before);
  });

  test('keeps the time while the status is the same', () => {
    expect(withCondition([base, other], { ...base, reason: 'B', lastTransitionTime: 't2' })).toEqual([
      other,
      { ...base, reason: 'B' },
    ]);
  });

  test('has a new time with a new status', () => {
    expect(withCondition([base], { ...base, status: 'False', lastTransitionTime: 't2' })).toEqual([
      { ...base, status: 'False', lastTransitionTime: 't2' },
    ]);
  });
});
