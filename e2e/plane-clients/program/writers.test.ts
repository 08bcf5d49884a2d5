import { describe, expect, test } from 'vitest';
import type { Body } from './program.ts';
import { createLedger, findLosses, type Ledger } from './writers.ts';

const item = (name: string, value: string, revision: number): Body =>
  ({ metadata: { name, resourceVersion: String(revision) }, data: { value } }) as Partial<Body> as Body;

/** One object that is as acknowledged, one that is deleted, one whose last change is unknown, one that was only
 *  sent. */
function ledger(): Ledger {
  const filled = createLedger();
  filled.objects.set('r0-w0-0', { value: 'a', revision: 5 });
  filled.objects.set('r0-w0-1', { value: undefined, revision: 0 });
  filled.objects.set('r0-w0-2', { value: 'b', revision: 6 });
  for (const [name, value] of [
    ['r0-w0-0', 'a'],
    ['r0-w0-1', undefined],
    ['r0-w0-2', 'c'],
    ['r0-w0-3', 'd'],
  ] as const) {
    filled.sent.set(name, value);
  }
  filled.newest = 6;
  return filled;
}
const whole = [item('r0-w0-0', 'a', 5), item('r0-w0-2', 'b', 6)];

describe('findLosses', () => {
  test.each<[string, readonly Body[], number]>([
    ['all as acknowledged', whole, 6],
    ['with a change that was under way', [item('r0-w0-0', 'a', 5), item('r0-w0-2', 'c', 7)], 7],
    ['with a new object that was under way', [...whole, item('r0-w0-3', 'd', 7)], 7],
    ['with what others made', [...whole, item('other', 'x', 2)], 7],
  ])('takes a state %s', (_name, items, revision) => {
    expect(findLosses(ledger(), items, revision)).toEqual([]);
  });

  test.each<[string, readonly Body[], number]>([
    ['a lost object', whole.slice(1), 6],
    ['an object of an older value', [item('r0-w0-0', '', 5), ...whole.slice(1)], 6],
    ['an object of another revision', [item('r0-w0-0', 'a', 4), ...whole.slice(1)], 6],
    ['a lost change', [item('r0-w0-0', 'a', 5), item('r0-w0-2', 'a', 5)], 6],
    ['a lost deletion', [...whole, item('r0-w0-1', 'a', 4)], 6],
    ['a value that was never sent', [...whole, item('r0-w0-3', 'x', 7)], 7],
    ['a state of the past', whole, 5],
  ])('finds %s', (_name, items, revision) => {
    expect(findLosses(ledger(), items, revision)).toHaveLength(1);
  });
});
