import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Cursor, compareKeys, createOrdered } from './ordered.ts';

function drain(cursor: Cursor<{ readonly key: string }>): readonly string[] {
  const keys: string[] = [];
  for (let item = cursor.next(); item !== undefined; item = cursor.next()) keys.push(item.key);
  return keys;
}

describe('compareKeys', () => {
  test('orders as the bytes do', () => {
    const text = fc.string({
      unit: fc.constantFrom('a', 'b', '/', '-', 'ä', '\ue000', '\uffff', '😀', '\u{10ffff}'),
    });
    fc.assert(
      fc.property(text, text, (a, b) => {
        expect(Math.sign(compareKeys(a, b))).toBe(Buffer.compare(Buffer.from(a), Buffer.from(b)));
      }),
    );
  });
});

describe('createOrdered', () => {
  test('is like a sorted list, through many additions and removals', () => {
    const step = fc.record({ remove: fc.boolean(), number: fc.nat(5000) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 4000, size: 'max' }), fc.nat(5000), (steps, probe) => {
        const ordered = createOrdered();
        const model = new Set<string>();
        for (const { remove, number } of steps) {
          const key = `k${number}`;
          if (remove) {
            ordered.remove(key);
            model.delete(key);
          } else if (!model.has(key)) {
            ordered.add({ key });
            model.add(key);
          }
        }
        const sorted = [...model].sort(compareKeys);
        const at = `k${probe}`;
        expect(drain(ordered.after(undefined))).toEqual(sorted);
        expect(drain(ordered.after(at))).toEqual(sorted.filter((key) => compareKeys(key, at) > 0));
        expect(ordered.rank(at)).toBe(sorted.filter((key) => compareKeys(key, at) < 0).length);
        expect(ordered.size).toBe(model.size);
      }),
      { numRuns: 30 },
    );
  });

  test('takes in keys that come in order', () => {
    const ordered = createOrdered();
    const keys = Array.from({ length: 2000 }, (_, index) => `k${String(index).padStart(5, '0')}`);
    for (const key of keys) ordered.add({ key });
    expect(drain(ordered.after(undefined))).toEqual(keys);
    expect(ordered.rank('k01500')).toBe(1500);
  });
});
