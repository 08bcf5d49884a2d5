import { describe, expect, test } from 'vitest';
import { EMPTY_SET, rejectedPlace } from '../manifest-set.ts';
import type { ManifestSet, SourcePod } from '../types.ts';
import { decideFile, type FileCheck, type FileState, nextCheckMs } from './file-table.ts';

const times = { graceMs: 1000, goneMs: 250 };
const place = { source: 'file', location: '/m/a.yaml' } as const;
const pod = (name: string): SourcePod => ({
  pod: { metadata: { name, namespace: 'default' } },
  origin: { ...place, document: '1' },
});
const good: ManifestSet = { pods: [pod('a'), pod('b')], objects: [], rejected: [] };
const better: ManifestSet = { pods: [pod('a')], objects: [], rejected: [] };
const bad = rejectedPlace(place, 'broken');
const half: ManifestSet = { ...bad, pods: [pod('a')] };
const read = (set: ManifestSet, ageMs = 0): FileCheck => ({ kind: 'read', set, ageMs });
const missing: FileCheck = { kind: 'missing' };
const same: FileCheck = { kind: 'same' };

describe('decideFile', () => {
  test.each<[string, FileState | undefined, FileCheck, number, FileState | undefined]>([
    ['takes a good file at once', undefined, read(good), 0, { shown: good }],
    ['takes a good change at once', { shown: good }, read(better), 0, { shown: better }],
    [
      'holds a new faulty file',
      undefined,
      read(bad),
      5000,
      { shown: EMPTY_SET, held: { set: bad, untilMs: 6000 } },
    ],
    [
      'holds it only for what is left of the grace',
      undefined,
      read(bad, 700),
      5000,
      {
        shown: EMPTY_SET,
        held: { set: bad, untilMs: 5300 },
      },
    ],
    ['reports an old faulty file at once', undefined, read(bad, 1000), 5000, { shown: bad }],
    [
      'a file from the future is held for the grace, no longer',
      undefined,
      read(bad, -1e12),
      5000,
      {
        shown: EMPTY_SET,
        held: { set: bad, untilMs: 6000 },
      },
    ],
    [
      'holds a faulty change',
      { shown: good },
      read(bad),
      5000,
      {
        shown: good,
        held: { set: bad, untilMs: 6000 },
      },
    ],
    [
      'does not start the grace anew',
      { shown: good, held: { set: bad, untilMs: 5100 } },
      read(half),
      5050,
      {
        shown: good,
        held: { set: half, untilMs: 5100 },
      },
    ],
    [
      'drops what was held when the file is good',
      { shown: good, held: { set: bad, untilMs: 9000 } },
      read(better),
      0,
      {
        shown: better,
      },
    ],
    ['keeps an unchanged file', { shown: good }, same, 0, { shown: good }],
    [
      'keeps holding an unchanged file',
      { shown: good, held: { set: bad, untilMs: 6000 } },
      same,
      5999,
      {
        shown: good,
        held: { set: bad, untilMs: 6000 },
      },
    ],
    ['ignores an unchanged unknown file', undefined, same, 0, undefined],
    ['waits for a missing file', { shown: good }, missing, 5000, { shown: good, goneAtMs: 5250 }],
    ['waits no longer than that', { shown: good, goneAtMs: 5250 }, missing, 5250, undefined],
    ['takes a file that came back', { shown: good, goneAtMs: 5250 }, read(better), 5100, { shown: better }],
    ['ignores a missing unknown file', undefined, missing, 0, undefined],
  ])('%s', (_name, previous, check, nowMs, expected) => {
    expect(decideFile(previous, check, nowMs, times)).toEqual(expected);
  });

  test('after the grace period reports the error and keeps the last good pods', () => {
    const state = decideFile({ shown: good, held: { set: bad, untilMs: 6000 } }, same, 6000, times);
    expect(state).toEqual({ shown: { pods: good.pods, objects: [], rejected: bad.rejected } });
  });

  test('after the grace period uses the valid parts of an invalid file, with the last good rest', () => {
    const state = decideFile({ shown: good, held: { set: half, untilMs: 6000 } }, read(half), 6000, times);
    expect(state?.shown.pods).toEqual([half.pods[0], good.pods[1]]);
    expect(state?.shown.pods[0]).toBe(half.pods[0]);
  });
});

describe('nextLookMs', () => {
  test.each<[FileState, number | undefined]>([
    [{ shown: good }, undefined],
    [{ shown: good, goneAtMs: 7 }, 7],
    [{ shown: good, held: { set: bad, untilMs: 9 } }, 9],
  ])('of state %#', (state, expected) => {
    expect(nextCheckMs(state)).toBe(expected);
  });
});
