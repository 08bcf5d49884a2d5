import { afterEach, describe, expect, it } from 'vitest';
import { callListener, createListeners, logListenerFailures } from './listeners.ts';
import { silentLogger } from './logger.ts';

interface Logged {
  readonly listenersOf: string;
  readonly err: Error;
}

describe('listeners', () => {
  const logged: Logged[] = [];
  const stop = (): (() => void) =>
    logListenerFailures({ ...silentLogger, error: (fields) => logged.push(fields as Logged) });
  let end: (() => void) | undefined;
  afterEach(() => {
    end?.();
    logged.length = 0;
  });

  it('are all called even if one throws, and the failure is logged by name', () => {
    end = stop();
    for (let throwing = 0; throwing < 4; throwing += 1) {
      const listeners = createListeners<[value: number]>('test');
      const called: string[] = [];
      for (let index = 0; index < 4; index += 1) {
        listeners.add((value) => {
          if (index === throwing) throw new Error(`no ${index}`);
          called.push(`${index}:${value}`);
        });
      }
      expect(() => listeners.notify(7)).not.toThrow();
      expect(called).toEqual([0, 1, 2, 3].filter((index) => index !== throwing).map((index) => `${index}:7`));
    }
    expect(logged.map(({ listenersOf, err }) => `${listenersOf} ${err.message}`)).toEqual([
      'test no 0',
      'test no 1',
      'test no 2',
      'test no 3',
    ]);
  });

  it('are added once, removed either way, and counted', () => {
    const listeners = createListeners('test');
    let calls = 0;
    const listener = (): void => {
      calls += 1;
    };
    const remove = listeners.add(listener);
    listeners.add(listener);
    expect(listeners.size).toBe(1);
    listeners.notify();
    remove();
    listeners.add(listener);
    listeners.delete(listener);
    listeners.notify();
    expect(calls).toBe(1);
    listeners.add(listener);
    listeners.clear();
    expect(listeners.size).toBe(0);
  });

  it('may be removed while they are called', () => {
    const listeners = createListeners('test');
    const called: string[] = [];
    const remove = listeners.add(() => {
      called.push('first');
      remove();
    });
    listeners.add(() => called.push('second'));
    listeners.notify();
    listeners.notify();
    expect(called).toEqual(['first', 'second', 'second']);
  });

  it('logs thrown values that are not errors', () => {
    end = stop();
    callListener('odd', () => {
      // oxlint-disable-next-line typescript/only-throw-error -- what others throw
      throw 'text';
    });
    expect(logged.map(({ err }) => err.message)).toEqual(['text']);
  });
});
