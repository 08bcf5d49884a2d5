import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { podOf } from '../workloads-kit/kit.fixture.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { REVISION_LABEL } from '../workloads-kit/revisions.ts';
import {
  type DaemonFacts,
  type DaemonInput,
  type DaemonNode,
  type DaemonPlan,
  daemonLimits,
  decideDaemons,
} from './decide.ts';

const DAEMON: DaemonFacts = {
  generation: 3,
  minReadySeconds: 0,
  onDelete: false,
  maxUnavailable: 1,
  maxSurge: 0,
  collisionCount: undefined,
};
const version = (hash: string): Pick<PodFacts, 'labels'> => ({ labels: { [REVISION_LABEL]: hash } });
const oldPod = (name: string, changes: Partial<PodFacts> = {}): PodFacts =>
  podOf(name, { ...version('old'), ...changes });
const newPod = (name: string, changes: Partial<PodFacts> = {}): PodFacts =>
  podOf(name, { ...version('new'), createdMs: 5000, ...changes });
const nodeOf = (name: string, pods: readonly PodFacts[], changes: Partial<DaemonNode> = {}): DaemonNode => ({
  name,
  starts: true,
  stays: true,
  pods,
  ...changes,
});

const decide = (nodes: readonly DaemonNode[], changes: Partial<DaemonInput> = {}): DaemonPlan =>
  decideDaemons({
    daemon: DAEMON,
    nodes,
    lost: [],
    hash: 'new',
    failureDelayMs: () => 0,
    nowMs: 10_000,
    ...changes,
  });

const SURGE = { daemon: { ...DAEMON, maxUnavailable: 0, maxSurge: 1 } };
const unready = { ready: false };

interface Row {
  readonly name: string;
  readonly nodes: readonly DaemonNode[];
  readonly changes?: Partial<DaemonInput>;
  readonly create?: readonly string[];
  readonly remove?: readonly string[];
}

const rows: readonly Row[] = [
  {
    name: 'creates a missing pod',
    nodes: [nodeOf('a', []), nodeOf('b', [newPod('p')])],
    create: ['a'],
  },
  { name: 'makes none where it does not belong', nodes: [nodeOf('a', [], { starts: false })] },
  {
    name: 'leaves a pod where none would be created',
    nodes: [nodeOf('a', [newPod('p')], { starts: false })],
  },
  {
    name: 'deletes a pod that may not stay',
    nodes: [nodeOf('a', [newPod('p')], { starts: false, stays: false })],
    remove: ['p'],
  },
  {
    name: 'creates no pod before the previous one is removed',
    nodes: [nodeOf('a', [oldPod('p', { deleting: true })])],
  },
  {
    name: 'leaves the oldest of many',
    nodes: [nodeOf('a', [newPod('p', { createdMs: 2 }), newPod('q', { createdMs: 1 })])],
    remove: ['p'],
  },
  {
    name: 'deletes failed pods',
    nodes: [nodeOf('a', [newPod('p', { phase: 'Failed', ready: false })])],
    remove: ['p'],
  },
  {
    name: 'waits before it deletes a pod that failed again',
    nodes: [nodeOf('a', [newPod('p', { phase: 'Failed', ready: false })])],
    changes: { failureDelayMs: () => 2000 },
  },
  {
    name: 'deletes pods of missing nodes',
    nodes: [],
    changes: { lost: [newPod('p')] },
    remove: ['p'],
  },
  {
    name: 'replaces one at a time',
    nodes: [nodeOf('a', [oldPod('p')]), nodeOf('b', [oldPod('q')])],
    remove: ['p'],
  },
  {
    name: 'replaces no other pod while one is missing',
    nodes: [nodeOf('a', [oldPod('p')]), nodeOf('b', [newPod('q', unready)])],
  },
  {
    name: 'replaces unavailable pods at once',
    nodes: [nodeOf('a', [oldPod('p')]), nodeOf('b', [oldPod('q', unready)])],
    remove: ['q'],
  },
  {
    name: 'replaces nothing that is deleted by hand',
    nodes: [nodeOf('a', [oldPod('p')])],
    changes: { daemon: { ...DAEMON, onDelete: true } },
  },
  {
    name: 'with a surge creates the new pod first',
    nodes: [nodeOf('a', [oldPod('p')]), nodeOf('b', [oldPod('q')])],
    changes: SURGE,
    create: ['a'],
  },
  {
    name: 'with a surge creates no other pod while one is unavailable',
    nodes: [nodeOf('a', [oldPod('p'), newPod('n', unready)]), nodeOf('b', [oldPod('q')])],
    changes: SURGE,
  },
  {
    name: 'with a surge deletes the old pod once the new one is available',
    nodes: [nodeOf('a', [oldPod('p'), newPod('n')])],
    changes: SURGE,
    remove: ['p'],
  },
  {
    name: 'with a surge replaces unavailable pods at once',
    nodes: [nodeOf('a', [oldPod('p', unready)]), nodeOf('b', [oldPod('q', unready)])],
    changes: SURGE,
    create: ['a', 'b'],
  },
];

describe('decideDaemons', () => {
  test.each(rows)('$name', ({ nodes, changes, create = [], remove = [] }) => {
    const plan = decide(nodes, changes);
    expect(plan.create).toEqual(create);
    expect(plan.remove.map(({ name }) => name)).toEqual(remove);
  });

  test('the status counts the pods', () => {
    const { status } = decide([
      nodeOf('a', [newPod('p')]),
      nodeOf('b', [oldPod('q', unready)]),
      nodeOf('c', []),
      nodeOf('d', [oldPod('r')], { starts: false }),
    ]);
    expect(status).toEqual({
      desiredNumberScheduled: 3,
      currentNumberScheduled: 2,
      numberMisscheduled: 1,
      numberReady: 1,
      observedGeneration: 3,
      updatedNumberScheduled: 1,
      numberAvailable: 1,
      numberUnavailable: 2,
    });
  });

  test('rechecks when a pod has been ready for minReadySeconds', () => {
    const daemon = { ...DAEMON, minReadySeconds: 5 };
    expect(decide([nodeOf('a', [newPod('p', { readySinceMs: 9000 })])], { daemon }).recheckMs).toBe(4000);
  });
});

test.each<[DaemonFacts['maxSurge'], DaemonFacts['maxUnavailable'], number, number, number]>([
  [0, 1, 10, 0, 1],
  [0, '25%', 10, 0, 3],
  ['10%', 0, 11, 2, 0],
  [0, 0, 5, 0, 1],
  [undefined, undefined, 5, 0, 1],
])('daemonLimits surge %j, unavailable %j of %d', (maxSurge, maxUnavailable, desired, surge, unavailable) => {
  expect(daemonLimits({ ...DAEMON, maxSurge, maxUnavailable }, desired)).toEqual({
    maxSurge: surge,
    maxUnavailable: unavailable,
  });
});

interface Place {
  old: 'none' | 'ready' | 'unready';
  fresh: 'none' | 'ready' | 'unready';
}

const podsOf = ({ old, fresh }: Place, name: string): readonly PodFacts[] => [
  ...(old === 'none' ? [] : [oldPod(`old-${name}`, { ready: old === 'ready' })]),
  ...(fresh === 'none' ? [] : [newPod(`new-${name}`, { ready: fresh === 'ready' })]),
];

test('an update respects maxUnavailable and completes', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 8 }),
      fc.integer({ min: 1, max: 4 }),
      fc.boolean(),
      fc.array(fc.nat(7), { maxLength: 60 }),
      (count, limit, surge, readies) => {
        const daemon = surge
          ? { ...DAEMON, maxUnavailable: 0, maxSurge: limit }
          : { ...DAEMON, maxUnavailable: limit };
        const places = new Map<string, Place>();
        for (let index = 0; index < count; index += 1)
          places.set(`${index}`, { old: 'ready', fresh: 'none' });
        const step = (): void => {
          const nodes = [...places].map(([name, place]) => nodeOf(name, podsOf(place, name)));
          const { create, remove } = decide(nodes, { daemon });
          for (const name of create)
            places.set(name, { ...(places.get(name) ?? { old: 'none' }), fresh: 'unready' });
          for (const { name } of remove) {
            const [kind = '', place = ''] = name.split('-');
            const before = places.get(place) ?? { old: 'none', fresh: 'none' };
            places.set(place, kind === 'old' ? { ...before, old: 'none' } : { ...before, fresh: 'none' });
          }
          const all = [...places.values()];
          const missing = all.filter(({ old, fresh }) => old !== 'ready' && fresh !== 'ready').length;
          const twice = all.filter(({ old, fresh }) => old !== 'none' && fresh !== 'none').length;
          expect(missing).toBeLessThanOrEqual(surge ? 0 : limit);
          expect(twice).toBeLessThanOrEqual(surge ? limit : 0);
        };
        const makeReady = (name: string): void => {
          const place = places.get(name);
          if (place?.fresh === 'unready') places.set(name, { ...place, fresh: 'ready' });
        };
        for (const index of readies) {
          step();
          makeReady(`${index}`);
        }
        for (let round = 0; round < 3 * count + 3; round += 1) {
          step();
          for (const name of places.keys()) makeReady(name);
        }
        expect([...places.values()]).toEqual(
          [...places.values()].map(() => ({ old: 'none', fresh: 'ready' })),
        );
      },
    ),
  );
});
