import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { podOf } from './kit.fixture.ts';
import type { PodFacts } from './pod-facts.ts';
import { type RankedPod, rankForDeletion } from './ranking.ts';

const NOW_MS = 10_000_000;
const TERMS = { nowMs: NOW_MS, logarithmic: true };
const ranked = (pod: Partial<PodFacts>, more: Partial<RankedPod> = {}): RankedPod => ({
  pod: podOf('x', { uid: 'x', ...pod }),
  deletionCost: 0,
  neighbours: 0,
  ...more,
});

describe('rankForDeletion', () => {
  test.each<[string, RankedPod, RankedPod]>([
    ['not yet on a node', ranked({ nodeName: '' }), ranked({})],
    ['pending', ranked({ phase: 'Pending' }), ranked({ phase: 'Running' })],
    ['unknown', ranked({ phase: 'Unknown' }), ranked({ phase: 'Running' })],
    ['not ready', ranked({ ready: false }), ranked({})],
    ['cheap', ranked({}, { deletionCost: -1 }), ranked({})],
    ['crowded', ranked({}, { neighbours: 3 }), ranked({}, { neighbours: 1 })],
    ['ready for a shorter time', ranked({ readySinceMs: NOW_MS - 10 }), ranked({ readySinceMs: 0 })],
    ['restarted more often', ranked({ restarts: 2 }), ranked({ restarts: 1 })],
    ['younger', ranked({ createdMs: NOW_MS - 10 }), ranked({ createdMs: 0 })],
    [
      'of the lower uid among those as old',
      ranked({ createdMs: NOW_MS - 1000, uid: 'a' }),
      ranked({ createdMs: NOW_MS - 1010, uid: 'b' }),
    ],
    [
      'unready, whatever it costs',
      ranked({ ready: false }, { deletionCost: 100 }),
      ranked({ ready: true }, { deletionCost: -100 }),
    ],
  ])('%s goes first', (_, first, second) => {
    for (const pods of [
      [first, second],
      [second, first],
    ]) {
      expect(rankForDeletion(pods, TERMS)[0]).toBe(first.pod);
    }
  });

  test('similar ages differ only without the gate LogarithmicScaleDown', () => {
    const older = ranked({ createdMs: NOW_MS - 1010, uid: 'a' });
    const younger = ranked({ createdMs: NOW_MS - 1000, uid: 'b' });
    const first = (logarithmic: boolean): string | undefined =>
      rankForDeletion([older, younger], { nowMs: NOW_MS, logarithmic })[0]?.uid;
    expect([first(true), first(false)]).toEqual(['a', 'b']);
  });

  test('is the same whatever the order of the pods was', () => {
    const pod = fc.record({
      uid: fc.uuid(),
      nodeName: fc.constantFrom('', 'a'),
      ready: fc.boolean(),
      readySinceMs: fc.nat(NOW_MS),
      createdMs: fc.nat(NOW_MS),
      restarts: fc.nat(2),
      phase: fc.constantFrom('Pending', 'Running'),
    });
    const pods = fc.uniqueArray(
      fc.tuple(pod, fc.nat(2)).map(([facts, neighbours]) => ranked(facts, { neighbours })),
      { selector: (each) => each.pod.uid, maxLength: 8 },
    );
    fc.assert(
      fc.property(pods, fc.boolean(), (some, logarithmic) => {
        const terms = { nowMs: NOW_MS, logarithmic };
        const once = rankForDeletion(some, terms).map(({ uid }) => uid);
        const again = rankForDeletion(some.toReversed(), terms).map(({ uid }) => uid);
        expect(again).toEqual(once);
      }),
    );
  });
});
