import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { RequestKind } from '../contract.ts';
import { createInFlight } from './in-flight.ts';

const slotFor = (flow: string, kind: RequestKind = 'readOnly') => ({ kind, flow, onAbort: () => undefined });

describe('createInFlight', () => {
  test('admits requests immediately while slots are free, separately for read-only and mutating ones', () => {
    const gate = createInFlight({ clock: createFakeClock() }, { readOnly: 1, mutating: 1 });
    expect(gate.enter(slotFor('a'))).toBeUndefined();
    expect(gate.enter(slotFor('a', 'mutating'))).toBeUndefined();
    expect([gate.count('readOnly'), gate.count('mutating')]).toEqual([1, 1]);
    gate.leave('readOnly');
    expect(gate.count('readOnly')).toBe(0);
    expect(gate.enter(slotFor('a'))).toBeUndefined();
  });

  test('serves another client before the second request of the first', async () => {
    const gate = createInFlight({ clock: createFakeClock() }, { readOnly: 1 });
    const order: string[] = [];
    gate.tryEnter('readOnly');
    const wait = async (flow: string): Promise<void> => {
      await gate.enter(slotFor(flow));
      order.push(flow);
      gate.leave('readOnly');
    };
    const all = ['a', 'a', 'b'].map(wait);
    gate.leave('readOnly');
    await Promise.all(all);
    expect(order).toEqual(['a', 'b', 'a']);
  });

  test('rejects with 429 after the longest wait, and hands no slot to a rejected request', async () => {
    const clock = createFakeClock();
    const gate = createInFlight({ clock }, { readOnly: 1, maxWaitMs: 1000 });
    gate.tryEnter('readOnly');
    const refused = gate.enter(slotFor('b'));
    await Promise.all([
      expect(refused).rejects.toMatchObject({ code: 429, details: { retryAfterSeconds: 1 } }),
      clock.advance(1000),
    ]);
    gate.leave('readOnly');
    expect([gate.count('readOnly'), gate.waiting('readOnly')]).toEqual([0, 0]);
  });

  test('rejects immediately beyond the bound of one client', async () => {
    const gate = createInFlight({ clock: createFakeClock() }, { readOnly: 1, maxPerFlow: 1 });
    gate.tryEnter('readOnly');
    void gate.enter(slotFor('a'))?.catch(() => undefined);
    await expect(gate.enter(slotFor('a'))).rejects.toBeInstanceOf(StatusError);
    expect(gate.waiting('readOnly')).toBe(1);
  });

  test('a client that leaves gives its place in the queue up', async () => {
    const gate = createInFlight({ clock: createFakeClock() }, { readOnly: 1 });
    gate.tryEnter('readOnly');
    let giveUp: (error: Error) => void = () => undefined;
    const waiting = gate.enter({ kind: 'readOnly', flow: 'b', onAbort: (fn) => void (giveUp = fn) });
    giveUp(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    expect(gate.waiting('readOnly')).toBe(0);
  });
});
