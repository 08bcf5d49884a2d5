import { describe, expect, test } from 'vitest';
import { createSizeQueue } from './terminal.ts';

describe('createSizeQueue', () => {
  test('begins with the current size and skips intermediate ones', async () => {
    let width = 80;
    const queue = createSizeQueue(() => ({ width, height: 24 }));
    const sizes = queue.all[Symbol.asyncIterator]();
    expect(await sizes.next()).toEqual({ done: false, value: { width: 80, height: 24 } });
    for (width of [90, 100, 110]) queue.notice();
    expect((await sizes.next()).value).toEqual({ width: 110, height: 24 });
    const next = sizes.next();
    width = 120;
    queue.notice();
    expect((await next).value).toEqual({ width: 120, height: 24 });
  });

  test('ends a waiting reader', async () => {
    const queue = createSizeQueue(() => ({ width: 1, height: 1 }));
    const sizes = queue.all[Symbol.asyncIterator]();
    await sizes.next();
    const next = sizes.next();
    queue.end();
    expect(await next).toMatchObject({ done: true });
  });
});
