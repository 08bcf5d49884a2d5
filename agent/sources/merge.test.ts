import { describe, expect, test } from 'vitest';
import { holdersOf, mergeSnapshots } from './manager.ts';
import type { SourceName, SourceObject, SourcePod, SourceSnapshot } from './types.ts';

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
