import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createSourceManager } from './manager.ts';
import type { DesiredState, PodSource, SourceName, SourcePod, SourceSink } from './types.ts';

/** A source driven by the test. */
function handSource(name: SourceName): {
  source: PodSource;
  deliver: SourceSink;
  fail: () => void;
  readonly runs: number;
} {
  let sink: SourceSink | undefined;
  let fail: ((error: Error) => void) | undefined;
  let runs = 0;
  return {
    source: {
      name,
      run(signal, target) {
        runs += 1;
        sink = target;
        return new Promise((resolve, reject) => {
          fail = reject;
          signal.addEventListener('abort', () => resolve(), { once: true });
        });
      },
    },
    deliver: (snapshot) => sink?.(snapshot),
    fail: () => fail?.(new Error('broken')),
    get runs() {
      return runs;
    },
  };
}

const empty = { pods: [], objects: [], rejected: [] };

describe('createSourceManager', () => {
  test('a running pod keeps precedence over a new manifest with its name, across a restart of the agent too', async () => {
    const file = handSource('file');
    const manager = createSourceManager({
      sources: [file.source],
      clock: createFakeClock(),
      log: silentLogger,
    });
    const stop = new AbortController();
    const done = manager.run(stop.signal);
    const pod = (uid: string, location: string): SourcePod => ({
      pod: { metadata: { name: 'web', namespace: 'default', uid } },
      origin: { source: 'file', location, document: '1' },
    });
    const [newcomer, running] = [pod('u1', '/a.yaml'), pod('u2', '/b.yaml')];
    const uids = () => manager.current().pods.map((entry) => entry.pod.metadata?.uid);
    // Read before the pods of an earlier agent are known.
    file.deliver({ ...empty, source: 'file', pods: [newcomer, running] });
    expect(uids()).toEqual(['u1']);
    manager.restored([running]);
    expect(uids()).toEqual(['u2']);
    file.deliver({ ...empty, source: 'file', pods: [newcomer, running] });
    expect(uids()).toEqual(['u2']);
    file.deliver({ ...empty, source: 'file', pods: [newcomer] });
    expect(uids()).toEqual(['u1']);
    stop.abort();
    await done;
  });

  test('is complete when every source delivered, and notifies listeners each time', async () => {
    const file = handSource('file');
    const url = handSource('url');
    const clock = createFakeClock();
    const manager = createSourceManager({ sources: [file.source, url.source], clock, log: silentLogger });
    const heard: DesiredState[] = [];
    manager.onChange(() => {
      throw new Error('listener');
    });
    const end = manager.onChange((state) => heard.push(state));
    expect(manager.current().complete).toBe(false);
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    file.deliver({ source: 'file', ...empty });
    url.deliver({ source: 'url', ...empty });
    expect(heard.map(({ complete }) => complete)).toEqual([false, true]);
    expect(manager.current()).toBe(heard[1]);
    end();
    file.deliver({ source: 'file', ...empty });
    expect(heard).toHaveLength(2);
    stop.abort();
    await running;
  });

  test('starts a failed source again and keeps what it delivered meanwhile', async () => {
    const file = handSource('file');
    const socket = handSource('socket');
    const clock = createFakeClock();
    const manager = createSourceManager({ sources: [file.source, socket.source], clock, log: silentLogger });
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    const kept = {
      pod: { metadata: { name: 'a', namespace: 'default', uid: 'u' } },
      origin: { source: 'file', location: '/a', document: '1' },
    } as const;
    file.deliver({ source: 'file', ...empty, pods: [kept] });
    file.fail();
    await clock.advance(0);
    expect(file.runs).toBe(1);
    await clock.advance(1200);
    expect(file.runs).toBe(2);
    expect(socket.runs).toBe(1);
    expect(manager.current().pods).toEqual([kept]);
    file.fail();
    await clock.advance(0);
    await clock.advance(1200);
    expect(file.runs).toBe(2);
    await clock.advance(1200);
    expect(file.runs).toBe(3);
    stop.abort();
    await running;
  });

  test('ends while a source waits to be started again', async () => {
    const file = handSource('file');
    const clock = createFakeClock();
    const manager = createSourceManager({ sources: [file.source], clock, log: silentLogger });
    const stop = new AbortController();
    const running = manager.run(stop.signal);
    file.fail();
    await clock.advance(0);
    stop.abort();
    await running;
    expect(file.runs).toBe(1);
  });
});
