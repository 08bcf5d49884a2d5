import { describe, expect, test } from 'vitest';
import {
  decideDeadContainers,
  type GcContainer,
  type GcObservation,
  type GcPolicy,
  type GcSandbox,
} from './dead-containers.ts';

const NOW = 1_000_000;
const policy: GcPolicy = { maxContainers: -1, maxPerContainer: 1, minAgeMs: 0 };

/** `dead('a', 'web', 5)`: created 5 s ago. */
function dead(
  podUID: string,
  name: string,
  ageSeconds: number,
  more: Partial<GcContainer> = {},
): GcContainer {
  return {
    containerID: `${podUID}-${name}-${ageSeconds}`,
    podUID,
    name,
    sandboxID: `${podUID}-box`,
    state: 'CONTAINER_EXITED',
    createdAtMs: NOW - ageSeconds * 1000,
    ...more,
  };
}
function box(podUID: string, ageSeconds: number, more: Partial<GcSandbox> = {}): GcSandbox {
  return {
    sandboxID: `${podUID}-box-${ageSeconds}`,
    podUID,
    state: 'SANDBOX_NOTREADY',
    createdAtMs: NOW - ageSeconds * 1000,
    ...more,
  };
}
function observe(more: Partial<GcObservation>): GcObservation {
  return {
    containers: [],
    sandboxes: [],
    isPodGone: (podUID) => podUID === 'gone',
    isPodOver: (podUID) => podUID === 'over',
    sourcesReady: true,
    nowMs: NOW,
    ...more,
  };
}

describe('decideDeadContainers', () => {
  const three = [dead('a', 'web', 1), dead('a', 'web', 2), dead('a', 'web', 3)];
  test.each<[string, readonly GcContainer[], Partial<GcPolicy>, readonly string[]]>([
    ['retains the newest instance of each container', three, {}, ['a-web-3', 'a-web-2']],
    ['retains as many as allowed', three, { maxPerContainer: 2 }, ['a-web-3']],
    [
      'retains only what an active pod needs when none are allowed',
      three,
      { maxPerContainer: 0 },
      ['a-web-3', 'a-web-2'],
    ],
    [
      'retains none of a terminated pod when none are allowed',
      [dead('over', 'web', 1), dead('over', 'web', 2)],
      { maxPerContainer: 0 },
      ['over-web-2', 'over-web-1'],
    ],
    ['retains all without a limit', three, { maxPerContainer: -1 }, []],
    [
      'counts each container of each pod apart',
      [dead('a', 'x', 1), dead('a', 'y', 2), dead('b', 'x', 3)],
      {},
      [],
    ],
    ['leaves the young alone', three, { maxPerContainer: 0, minAgeMs: 2500 }, ['a-web-3']],
    [
      'leaves running and never started ones alone',
      [
        dead('a', 'web', 3, { state: 'CONTAINER_RUNNING' }),
        dead('a', 'web', 2, { state: 'CONTAINER_CREATED' }),
        dead('a', 'web', 1),
      ],
      { maxPerContainer: 0 },
      ['a-web-1'],
    ],
    [
      'removes all of a pod that is gone, young or never started, but not what runs',
      [
        dead('gone', 'web', 0),
        dead('gone', 'init', 9, { state: 'CONTAINER_CREATED' }),
        dead('gone', 'side', 5, { state: 'CONTAINER_RUNNING' }),
      ],
      { minAgeMs: 60_000 },
      ['gone-init-9', 'gone-web-0'],
    ],
    [
      'shares the global limit out before any container loses its last instance',
      [dead('a', 'x', 1), dead('a', 'x', 2), dead('a', 'x', 3), dead('b', 'y', 9)],
      { maxPerContainer: -1, maxContainers: 2 },
      ['a-x-3', 'a-x-2'],
    ],
    [
      'removes the oldest of all when even one each is too many',
      [dead('over', 'x', 1), dead('over', 'y', 9), dead('over', 'z', 5)],
      { maxContainers: 1 },
      ['over-y-9', 'over-z-5'],
    ],
    [
      'removes all that is not needed for a global limit of 0',
      [dead('a', 'x', 1), dead('a', 'x', 2), dead('over', 'x', 1)],
      { maxContainers: 0 },
      ['a-x-2', 'over-x-1'],
    ],
  ])('%s', (_, containers, more, expected) => {
    expect(decideDeadContainers(observe({ containers }), { ...policy, ...more }).containerIDs).toEqual(
      expected,
    );
  });

  test('treats no pod as removed before every source was read', () => {
    const containers = [dead('gone', 'web', 1)];
    const sandboxes = [box('gone', 1)];
    const isPodGone = (): never => {
      throw new Error('called too early');
    };
    const observation = observe({ containers, sandboxes, sourcesReady: false, isPodGone });
    expect(decideDeadContainers(observation, policy)).toEqual({ containerIDs: [], sandboxIDs: [] });
  });

  test.each<[string, readonly GcSandbox[], readonly GcContainer[], readonly string[]]>([
    ['retains the newest sandbox of a pod', [box('a', 1), box('a', 2)], [], ['a-box-2']],
    ['removes all of a pod that is gone', [box('gone', 1), box('gone', 2)], [], ['gone-box-1', 'gone-box-2']],
    ['leaves ready ones alone', [box('gone', 1, { state: 'SANDBOX_READY' })], [], []],
    [
      'retains one whose container stays',
      [box('a', 1), box('a', 2)],
      [dead('a', 'web', 2, { sandboxID: 'a-box-2' })],
      [],
    ],
    [
      'removes one together with its last containers',
      [box('a', 1), box('a', 2)],
      [dead('a', 'web', 2, { sandboxID: 'a-box-2' }), dead('a', 'web', 1, { sandboxID: 'a-box-1' })],
      ['a-box-2'],
    ],
  ])('%s', (_, sandboxes, containers, expected) => {
    expect(decideDeadContainers(observe({ sandboxes, containers }), policy).sandboxIDs).toEqual(expected);
  });
});
