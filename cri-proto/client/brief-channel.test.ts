import { describe, expect, test } from 'vitest';
import { createBriefChannel } from './brief-channel.ts';
import type { GrpcChannel } from './channel.ts';

function recorder() {
  const log: string[] = [];
  const ends: (() => void)[] = [];
  const open = (path: string): GrpcChannel => {
    log.push(`open ${path}`);
    return {
      unary: async (call) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        ends.push(resolve);
        await promise;
        if (call === 'bad') throw new Error('refused');
        return new Uint8Array([1]);
      },
      async *stream() {
        yield new Uint8Array([1]);
        yield new Uint8Array([2]);
      },
      state: () => 'connected',
      onStateChange: () => () => undefined,
      close: () => void log.push('close'),
    };
  };
  return { log, open, end: () => ends.shift()?.() };
}

const NONE = new Uint8Array(0);
const ANY_TIME = { timeoutMs: 0 };

describe('createBriefChannel', () => {
  test('uses one connection for concurrent calls, and none afterwards', async () => {
    const { log, open, end } = recorder();
    const channel = createBriefChannel('/s', open);
    expect(log).toEqual([]);
    const calls = [channel.unary('a', NONE, ANY_TIME), channel.unary('b', NONE, ANY_TIME)];
    end();
    await calls[0];
    expect(log).toEqual(['open /s']);
    end();
    await calls[1];
    expect(log).toEqual(['open /s', 'close']);
    const again = channel.unary('c', NONE, ANY_TIME);
    end();
    await again;
    expect(log).toEqual(['open /s', 'close', 'open /s', 'close']);
  });

  test('closes after a call that failed', async () => {
    const { log, open, end } = recorder();
    const call = createBriefChannel('/s', open).unary('bad', NONE, ANY_TIME);
    end();
    await expect(call).rejects.toThrow('refused');
    expect(log).toEqual(['open /s', 'close']);
  });

  test('stays open as long as a stream is read', async () => {
    const { log, open } = recorder();
    for await (const chunk of createBriefChannel('/s', open).stream('w', NONE, ANY_TIME)) {
      expect(log).toEqual(['open /s']);
      if (chunk[0] === 1) break;
    }
    expect(log).toEqual(['open /s', 'close']);
  });
});
