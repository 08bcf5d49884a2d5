import { describe, expect, test } from 'vitest';
import { createWriteWatch } from './file-watch.ts';

describe('createWriteWatch', () => {
  test('a file without writes may be read', () => {
    const writes = createWriteWatch(25, 1000);
    expect(writes.restsAtMs('/a')).toBeUndefined();
    expect(writes.afterRead('/a', 0)).toBeUndefined();
  });

  test('waits until the writer pauses, for that file only', () => {
    const writes = createWriteWatch(25, 1000);
    writes.note('/a', 100);
    expect(writes.restsAtMs('/a')).toBe(125);
    writes.note('/a', 120);
    expect(writes.restsAtMs('/a')).toBe(145);
    expect(writes.restsAtMs('/b')).toBeUndefined();
  });

  test('a write during the read invalidates it; one before does not', () => {
    const writes = createWriteWatch(25, 1000);
    writes.note('/a', 100);
    expect(writes.afterRead('/a', 100)).toBe(125);
    expect(writes.afterRead('/a', 130)).toBeUndefined();
    expect(writes.restsAtMs('/a')).toBeUndefined();
  });

  test('does not wait for ever, and reads a continuously written file only once per grace period', () => {
    const writes = createWriteWatch(25, 1000);
    for (let ms = 0; ms <= 2000; ms += 10) writes.note('/log', ms);
    expect(writes.restsAtMs('/log')).toBe(1000);
    expect(writes.afterRead('/log', 1995)).toBe(2995);
  });
});
