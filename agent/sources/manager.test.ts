import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createSourceManager, holdersOf, mergeSnapshots } from './manager.ts';
import type {
  DesiredState,
  PodSource,
  SourceName,
  SourceObject,
  SourcePod,
  SourceSink,
  SourceSnapshot,
} from './types.ts';

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
    deliver: (content) => sink?.(content),
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
    const at = (uid: string, location: string): SourcePod => ({
      pod: { metadata: { name: 'web', namespace: 'default', uid } },
      origin: { source: 'file', location, document: '1' },
    });
    const [newcomer, running] = [at('u1', '/a.yaml'), at('u2', '/b.yaml')];
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

function pod(
  source: SourceName,
  name: string,
  uid = `${source}-${name}`,
  location: string = source,
): SourcePod {
  return {
    pod: { metadata: { name, namespace: 'default', uid } },
    origin: { source, location, document: '1' },
  };
}

function configMap(source: SourceName, name: string): SourceObject {
  const object = { kind: 'ConfigMap', metadata: { name, namespace: 'default' } } as const;
  return { object, origin: { source, location: source, document: '1' } };
}

function snapshot(source: SourceName, change: Partial<SourceSnapshot>): SourceSnapshot {
  return { source, pods: [], objects: [], rejected: [], ...change };
}

const uids = (pods: readonly SourcePod[]): readonly (string | undefined)[] =>
  pods.map((entry) => entry.pod.metadata?.uid);

describe('mergeSnapshots', () => {
  test('joins sources in order of precedence, whatever order they came in', () => {
    const merged = mergeSnapshots(
      [
        snapshot('socket', { pods: [pod('socket', 'c')], objects: [configMap('socket', 'x')] }),
        snapshot('url', { pods: [pod('url', 'b')] }),
        snapshot('file', { pods: [pod('file', 'a')], objects: [configMap('file', 'y')] }),
      ],
      ['file', 'url', 'socket'],
    );
    expect(uids(merged.pods)).toEqual(['file-a', 'url-b', 'socket-c']);
    expect(merged.objects.map(({ origin }) => origin.source)).toEqual(['file', 'socket']);
    expect(merged).toMatchObject({ conflicts: [], complete: true, unread: [] });
  });

  test('gives a name to the first source and names the loser', () => {
    const merged = mergeSnapshots(
      [
        snapshot('socket', { pods: [pod('socket', 'web')], objects: [configMap('socket', 'cm')] }),
        snapshot('file', { pods: [pod('file', 'web')], objects: [configMap('file', 'cm')] }),
      ],
      ['file', 'socket'],
    );
    expect(uids(merged.pods)).toEqual(['file-web']);
    expect(merged.objects.map(({ origin }) => origin.source)).toEqual(['file']);
    expect(
      merged.conflicts.map(({ identity, winner, loser }) => [identity, winner.source, loser.source]),
    ).toEqual([
      ['Pod default/web', 'file', 'socket'],
      ['ConfigMap default/cm', 'file', 'socket'],
    ]);
  });

  test('within a source the first place wins', () => {
    const pods = [pod('file', 'web', 'u1', '/a.yaml'), pod('file', 'web', 'u2', '/b.yaml')];
    const merged = mergeSnapshots([snapshot('file', { pods })], ['file']);
    expect(uids(merged.pods)).toEqual(['u1']);
    expect(merged.conflicts[0]?.loser.location).toBe('/b.yaml');
  });

  test('within a source the place that already has a pod keeps it', () => {
    const late = snapshot('file', { pods: [pod('file', 'web', 'u2', '/b.yaml')] });
    const first = mergeSnapshots([late], ['file']);
    const both = [pod('file', 'web', 'u1', '/a.yaml'), pod('file', 'web', 'u2', '/b.yaml')];
    const merged = mergeSnapshots([snapshot('file', { pods: both })], ['file'], holdersOf(first));
    expect(uids(merged.pods)).toEqual(['u2']);
    expect(merged.conflicts[0]).toMatchObject({
      winner: { location: '/b.yaml' },
      loser: { location: '/a.yaml' },
    });
    // Its name is free after the removal, and is claimed by a source of higher precedence.
    const gone = mergeSnapshots([snapshot('file', { pods: both.slice(0, 1) })], ['file'], holdersOf(merged));
    expect(uids(gone.pods)).toEqual(['u1']);
    const applied = mergeSnapshots([snapshot('socket', { pods: [pod('socket', 'web', 'u3')] })], ['socket']);
    const sources = [
      snapshot('file', { pods: both }),
      snapshot('socket', { pods: [pod('socket', 'web', 'u3')] }),
    ];
    expect(uids(mergeSnapshots(sources, ['file', 'socket'], holdersOf(applied)).pods)).toEqual(['u1']);
  });

  test('two pods never share a uid', () => {
    const pods = [pod('file', 'a', 'same'), pod('file', 'b', 'same'), pod('file', 'c', 'other')];
    const merged = mergeSnapshots([snapshot('file', { pods })], ['file']);
    expect(uids(merged.pods)).toEqual(['same', 'other']);
    expect(merged.conflicts[0]?.identity).toBe('Pod default/b (uid same)');
  });

  test('a loser claims nothing: the name it would also have blocked stays free', () => {
    const pods = [pod('file', 'a', 'u1'), pod('file', 'b', 'u1'), pod('file', 'b', 'u2')];
    const merged = mergeSnapshots([snapshot('file', { pods })], ['file']);
    expect(uids(merged.pods)).toEqual(['u1', 'u2']);
  });

  test.each<[string, SourceSnapshot[], SourceName[], SourceName[]]>([
    ['none delivered', [], ['file', 'url'], ['file', 'url']],
    ['one missing', [snapshot('file', {})], ['file', 'url'], ['url']],
    ['one partial', [snapshot('file', {}), snapshot('url', { partial: true })], ['file', 'url'], ['url']],
    ['all', [snapshot('file', {}), snapshot('url', {})], ['file', 'url'], []],
    ['no source configured', [], [], []],
  ])('lists unread sources: %s', (_name, snapshots, expected, unread) => {
    const merged = mergeSnapshots(snapshots, expected);
    expect(merged.unread).toEqual(unread);
    expect(merged.complete).toBe(unread.length === 0);
  });
});
