import { describe, expect, test } from 'vitest';
import { createUnowned } from './unowned.ts';

const value = (revision: number): { revision: number; bytes: Buffer } => ({
  revision,
  bytes: Buffer.from(String(revision)),
});
const change = (key: string, revision: number, deleted = false) => ({
  key,
  revision,
  bytes: deleted ? undefined : value(revision).bytes,
});

describe('createUnowned', () => {
  test('gives the state before the changes, and the changes', () => {
    const state = createUnowned();
    for (const key of ['/a/unchanged', '/a/changed', '/a/gone', '/b/other']) state.replace(key, value(1));
    state.forgetPast(2);
    const changes = [
      change('/a/changed', 3),
      change('/b/other', 4),
      change('/a/new', 5),
      change('/a/gone', 6, true),
      change('/a/changed', 7),
    ];
    for (const each of changes) state.change(each);
    expect(state.get('/a/changed')?.revision).toBe(7);
    const taken = state.take('/a/');
    const before = Object.fromEntries([...taken.items].map(([key, { revision }]) => [key, revision]));
    expect(before).toEqual({ '/a/changed': 1, '/a/gone': 1, '/a/unchanged': 1 });
    expect(taken.changes.map(({ revision }) => revision)).toEqual([3, 5, 6, 7]);
    expect(taken.floor).toBe(2);
    expect([...state.keys()]).toEqual(['/b/other']);
    expect(state.take('/a/')).toEqual({ items: new Map(), changes: [], floor: 2 });
    expect(state.take('/b/').changes.map(({ revision }) => revision)).toEqual([4]);
  });

  test('knows nothing of the past before anything was loaded, nor of keys that were released', () => {
    const state = createUnowned();
    state.replace('/a/x', value(1));
    expect(state.take('/a/').floor).toBeUndefined();
    state.forgetPast(2);
    state.replace('/a/x', value(5));
    state.released('/a/', 6);
    state.change(change('/a/x', 7));
    const taken = state.take('/a/');
    expect([taken.floor, taken.items.get('/a/x')?.revision, taken.changes.length]).toEqual([6, 5, 1]);
  });

  test('forgets the oldest of many changes', () => {
    const state = createUnowned();
    state.forgetPast(1);
    for (let revision = 2; revision <= 2002; revision += 1) state.change(change('/a/x', revision));
    const { changes, floor = 0, items } = state.take('/a/');
    expect(floor).toBe((changes[0]?.revision ?? 0) - 1);
    expect(items.get('/a/x')?.revision).toBe(floor);
    expect(changes.at(-1)?.revision).toBe(2002);
    expect(changes.length).toBeLessThan(2000);
  });
});
