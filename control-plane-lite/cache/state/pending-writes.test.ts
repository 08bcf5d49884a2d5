import { describe, expect, test } from 'vitest';
import { createPendingWrites } from './stored-form.ts';

const object = (name: string): Parameters<ReturnType<typeof createPendingWrites>['add']>[2] => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name },
});

describe('pendingWrites', () => {
  test('are found by key and bytes, once', () => {
    const pendingWrites = createPendingWrites();
    pendingWrites.add('a', Buffer.from('1'), object('a'));
    expect(pendingWrites.take('b', Buffer.from('1'))).toBeUndefined();
    expect(pendingWrites.take('a', Buffer.from('2'))).toBeUndefined();
    expect(pendingWrites.take('a', Buffer.from('1'))?.metadata.name).toBe('a');
    expect(pendingWrites.take('a', Buffer.from('1'))).toBeUndefined();
  });

  test('the newest of a key counts', () => {
    const pendingWrites = createPendingWrites();
    pendingWrites.add('a', Buffer.from('1'), object('first'));
    pendingWrites.add('a', Buffer.from('2'), object('second'));
    expect(pendingWrites.take('a', Buffer.from('1'))).toBeUndefined();
    expect(pendingWrites.take('a', Buffer.from('2'))?.metadata.name).toBe('second');
  });

  test('the oldest of too many are forgotten', () => {
    const pendingWrites = createPendingWrites(2);
    for (const name of ['a', 'b', 'c']) pendingWrites.add(name, Buffer.from(name), object(name));
    expect(['a', 'b', 'c'].map((name) => pendingWrites.take(name, Buffer.from(name))?.metadata.name)).toEqual(
      [undefined, 'b', 'c'],
    );
  });
});
