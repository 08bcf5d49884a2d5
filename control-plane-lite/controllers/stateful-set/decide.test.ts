import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { podOf } from '../workloads-kit/kit.fixture.ts';
import type { PodFacts } from '../workloads-kit/pod-facts.ts';
import { REVISION_LABEL } from '../workloads-kit/revisions.ts';
import {
  decideStateful,
  ordinalOf,
  type StatefulAction,
  type StatefulFacts,
  type StatefulPlan,
} from './decide.ts';

const SET: StatefulFacts = {
  name: 'db',
  generation: 2,
  deleting: false,
  replicas: 3,
  parallel: false,
  onDelete: false,
  partition: 0,
  maxUnavailable: 1,
  minReadySeconds: 0,
  collisionCount: undefined,
};
const SAME = { current: 'v1', update: 'v1' };
const UPDATE = { current: 'v1', update: 'v2' };

const pod = (ordinal: number, changes: Partial<PodFacts> = {}, version = 'v1'): PodFacts =>
  podOf(`db-${ordinal}`, { labels: { [REVISION_LABEL]: version }, ...changes });
const unready = { ready: false };
const going = { deleting: true };

const decide = (
  pods: readonly PodFacts[],
  changes: Partial<StatefulFacts> = {},
  versions: typeof SAME = SAME,
): StatefulPlan => decideStateful({ set: { ...SET, ...changes }, versions, pods, nowMs: 10_000 });

const textOf = (action: StatefulAction): string =>
  action.kind === 'create'
    ? `create ${action.ordinal} ${action.version}`
    : `${action.kind}${action.kind === 'delete' && action.failed ? ' failed' : ''} ${action.pod.name}`;
const changesOf = ({ actions }: StatefulPlan): readonly string[] =>
  actions.filter(({ kind }) => kind !== 'keep').map(textOf);

interface Row {
  readonly name: string;
  readonly pods: readonly PodFacts[];
  readonly set?: Partial<StatefulFacts>;
  readonly versions?: typeof SAME;
  readonly expected: readonly string[];
}

const PARALLEL = { parallel: true };

const rows: readonly Row[] = [
  { name: 'makes the first', pods: [], expected: ['create 0 v1'] },
  { name: 'waits for it', pods: [pod(0, unready)], expected: [] },
  { name: 'then makes the next', pods: [pod(0)], expected: ['create 1 v1'] },
  { name: 'fills a gap first', pods: [pod(0), pod(2)], expected: ['create 1 v1'] },
  { name: 'waits for one that is going', pods: [pod(0, going), pod(1)], expected: [] },
  {
    name: 'replaces failed pods',
    pods: [pod(0, { phase: 'Failed', ready: false })],
    expected: ['delete failed db-0'],
  },
  {
    name: 'in parallel, creates all pods',
    pods: [pod(1, unready)],
    set: PARALLEL,
    expected: ['create 0 v1', 'create 2 v1'],
  },
  {
    name: 'waits until a pod has been ready for long enough',
    pods: [pod(0, { readySinceMs: 9000 })],
    set: { minReadySeconds: 5 },
    expected: [],
  },
  {
    name: 'deletes the last pod',
    pods: [pod(0), pod(1), pod(2)],
    set: { replicas: 1 },
    expected: ['delete db-2'],
  },
  {
    name: 'deletes one pod at a time',
    pods: [pod(0), pod(1), pod(2, going)],
    set: { replicas: 1 },
    expected: [],
  },
  {
    name: 'deletes no pod while one that stays is unavailable',
    pods: [pod(0, unready), pod(1)],
    set: { replicas: 1 },
    expected: [],
  },
  {
    name: 'deletes the first unavailable pod',
    pods: [pod(0), pod(1, unready)],
    set: { replicas: 1 },
    expected: ['delete db-1'],
  },
  {
    name: 'in parallel, deletes all pods',
    pods: [pod(0), pod(1), pod(2, unready)],
    set: { replicas: 1, parallel: true },
    expected: ['delete db-2', 'delete db-1'],
  },
  {
    name: 'updates the last first',
    pods: [pod(0), pod(1), pod(2)],
    versions: UPDATE,
    expected: ['delete db-2'],
  },
  {
    name: 'then the one before',
    pods: [pod(0), pod(1), pod(2, {}, 'v2')],
    versions: UPDATE,
    expected: ['delete db-1'],
  },
  {
    name: 'creates the updated pod again',
    pods: [pod(0), pod(1)],
    versions: UPDATE,
    expected: ['create 2 v2'],
  },
  {
    name: 'updates no other pod while one is unavailable',
    pods: [pod(0), pod(1), pod(2, unready, 'v2')],
    versions: UPDATE,
    expected: [],
  },
  {
    name: 'leaves pods below the partition',
    pods: [pod(0), pod(1), pod(2, {}, 'v2')],
    set: { partition: 2 },
    versions: UPDATE,
    expected: [],
  },
  {
    name: 'creates pods below the partition from the current revision',
    pods: [pod(0)],
    set: { partition: 2 },
    versions: UPDATE,
    expected: ['create 1 v1'],
  },
  {
    name: 'updates nothing that is deleted by hand',
    pods: [pod(0), pod(1), pod(2)],
    set: { onDelete: true },
    versions: UPDATE,
    expected: [],
  },
  {
    name: 'creates manually deleted pods from the update revision',
    pods: [pod(0), pod(1)],
    set: { onDelete: true },
    versions: UPDATE,
    expected: ['create 2 v2'],
  },
  {
    name: 'updates many where that is allowed',
    pods: [pod(0), pod(1), pod(2)],
    set: { maxUnavailable: 2 },
    versions: UPDATE,
    expected: ['delete db-2', 'delete db-1'],
  },
  { name: 'on its way out, does nothing', pods: [], set: { deleting: true }, expected: [] },
];

describe('decideStateful', () => {
  test.each(rows)('$name', ({ pods, set, versions, expected }) => {
    expect(changesOf(decide(pods, set, versions))).toEqual(expected);
  });

  test('counts', () => {
    const { status } = decide([pod(0), pod(1, unready), pod(2, {}, 'v2')], {}, UPDATE);
    expect(status).toEqual({
      replicas: 3,
      observedGeneration: 2,
      readyReplicas: 2,
      currentReplicas: 2,
      updatedReplicas: 1,
      availableReplicas: 2,
      currentRevision: 'v1',
      updateRevision: 'v2',
    });
  });

  test('the update revision becomes current when all pods have it and are ready', () => {
    const pods = [0, 1, 2].map((ordinal) => pod(ordinal, {}, 'v2'));
    expect(decide(pods, {}, UPDATE).status).toMatchObject({
      currentRevision: 'v2',
      updateRevision: 'v2',
      currentReplicas: 3,
    });
    expect(decide(pods, { onDelete: true }, UPDATE).status).toMatchObject({ currentRevision: 'v1' });
  });
});

test.each([
  ['db-0', 0],
  ['db-12', 12],
  ['db-01', -1],
  ['db-x', -1],
  ['db-', -1],
  ['other-1', -1],
  ['db-a-1', -1],
])('ordinalOf %s: %d', (name, expected) => {
  expect(ordinalOf('db', name)).toBe(expected);
});

test('an ordered update has at most one pod missing, creates no pod before its predecessors are ready, and completes', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 6 }),
      fc.array(fc.nat(5), { maxLength: 40 }),
      (replicas, readies) => {
        const pods = new Map<number, PodFacts>();
        for (let ordinal = 0; ordinal < replicas; ordinal += 1) pods.set(ordinal, pod(ordinal));
        let early = false;
        const step = (): void => {
          for (const action of decide([...pods.values()], { replicas }, UPDATE).actions) {
            if (action.kind === 'delete') pods.delete(ordinalOf('db', action.pod.name));
            if (action.kind === 'create') {
              const below = Array.from({ length: action.ordinal }, (_, ordinal) => pods.get(ordinal));
              early ||= below.some((each) => each?.ready !== true);
              pods.set(action.ordinal, pod(action.ordinal, unready, action.version));
            }
          }
          const well = [...pods.values()].filter(({ ready }) => ready).length;
          expect(well).toBeGreaterThanOrEqual(replicas - 1);
          expect(early).toBe(false);
        };
        const makeReady = (ordinal: number): void => {
          const found = pods.get(ordinal);
          if (found !== undefined) pods.set(ordinal, { ...found, ready: true });
        };
        for (const ordinal of readies) {
          step();
          makeReady(ordinal);
        }
        for (let round = 0; round < 3 * replicas; round += 1) {
          step();
          for (const ordinal of pods.keys()) makeReady(ordinal);
        }
        expect([...pods.values()].map(({ labels }) => labels[REVISION_LABEL])).toEqual(
          Array.from({ length: replicas }, () => 'v2'),
        );
      },
    ),
  );
});
