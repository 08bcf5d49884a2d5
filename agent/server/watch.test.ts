import { describe, expect, test } from 'vitest';
import type { Event, Pod } from '#api/gen/core-v1.ts';
import { watchEvents, watchPods } from './watch.ts';

const pod = (uid: string, phase: 'Pending' | 'Running' | 'Succeeded' = 'Pending'): Pod => ({
  metadata: { uid },
  status: { phase },
});

function createSource<T extends unknown[]>() {
  const listeners = new Set<(...args: T) => void>();
  return {
    listeners,
    subscribe: (listener: (...args: T) => void) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    emit: (...args: T) => {
      for (const listener of listeners) listener(...args);
    },
  };
}

const parse = (
  chunk: Uint8Array,
): { readonly type: string; readonly object: { readonly metadata?: { readonly uid?: string } } } =>
  JSON.parse(Buffer.from(chunk).toString()) as ReturnType<typeof parse>;

const uidOf = (line: IteratorResult<Uint8Array, unknown>): string | undefined =>
  line.done === true ? undefined : parse(line.value).object.metadata?.uid;

describe('watchPods', () => {
  test('yields existing pods, then changes, skipping intermediate states', async () => {
    let pods: readonly Pod[] = [pod('a'), pod('b')];
    const source = createSource<[]>();
    const stop = new AbortController();
    const lines = watchPods({ list: () => pods, onChange: source.subscribe }, stop.signal);
    const next = async (): Promise<string> => {
      const line = await lines.next();
      if (line.done === true) return 'end';
      const { type, object } = parse(line.value);
      return `${type} ${object.metadata?.uid ?? ''}`.trim();
    };
    expect([await next(), await next(), await next()]).toEqual(['ADDED a', 'ADDED b', 'BOOKMARK']);
    pods = [pod('a', 'Running'), pod('b')];
    source.emit();
    pods = [pod('a', 'Succeeded'), pod('c')];
    source.emit();
    expect([await next(), await next(), await next()]).toEqual(['DELETED b', 'MODIFIED a', 'ADDED c']);
    const waiting = next();
    source.emit();
    stop.abort();
    expect(await waiting).toBe('end');
    expect(source.listeners.size).toBe(0);
  });
});

describe('watchEvents', () => {
  const event = (name: string): Event => ({ metadata: { uid: name }, involvedObject: { name } });

  test('yields stored and new events that match', async () => {
    const source = createSource<[Event]>();
    const stop = new AbortController();
    const isWanted = ({ involvedObject }: Event): boolean => involvedObject.name !== 'other';
    const lines = watchEvents({ list: () => [event('a')], onEvent: source.subscribe, isWanted }, stop.signal);
    const first = await lines.next();
    const second = lines.next();
    source.emit(event('other'));
    source.emit(event('b'));
    stop.abort();
    expect(uidOf(first)).toBe('a');
    expect((await second).done).toBe(true);
  });

  test('yields new events in order', async () => {
    const source = createSource<[Event]>();
    const lines = watchEvents(
      { list: () => [], onEvent: source.subscribe, isWanted: () => true },
      new AbortController().signal,
    );
    const first = lines.next();
    source.emit(event('a'));
    source.emit(event('b'));
    expect([uidOf(await first), uidOf(await lines.next())]).toEqual(['a', 'b']);
  });

  test('disconnects a client that has stopped reading', async () => {
    const source = createSource<[Event]>();
    const lines = watchEvents(
      { list: () => [event('a')], onEvent: source.subscribe, isWanted: () => true },
      new AbortController().signal,
    );
    expect(uidOf(await lines.next())).toBe('a');
    for (let count = 0; count < 20_000; count += 1) source.emit(event('b'));
    expect((await lines.next()).done).toBe(true);
    expect(source.listeners.size).toBe(0);
  });
});
