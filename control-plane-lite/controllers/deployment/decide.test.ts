import { describe, expect, test } from 'vitest';
import { type DeploymentInput, type DeploymentPlan, decideDeployment } from './decide.ts';
import { deploymentOf, NAMES, setOf, templateOf } from './deployment.fixture.ts';
import { HASH_LABEL, type ReplicaSetFacts, resolveLimits } from './model.ts';
import { allOf, byRevision } from './revisions.ts';

const NOW_MS = 1_767_225_600_000;
const NOW = '2026-01-01T00:00:00Z';

const decide = (
  deployment: DeploymentInput['deployment'],
  sets: readonly ReplicaSetFacts[],
  more: Partial<DeploymentInput> = {},
): DeploymentPlan =>
  decideDeployment({ deployment, sets, havePods: () => false, names: NAMES, nowMs: NOW_MS, ...more });

const sizes = ({ sets }: DeploymentPlan): Readonly<Record<string, number>> =>
  Object.fromEntries(
    allOf(sets).map(({ template, replicas }) => [template.spec?.containers[0]?.image ?? '', replicas]),
  );

const conditionOf = ({ status }: DeploymentPlan, type: string): unknown =>
  status.conditions?.find((condition) => condition.type === type);

describe('resolveLimits', () => {
  test.each<[number | string | undefined, number | string | undefined, number, number, number]>([
    ['25%', '25%', 10, 3, 2],
    ['25%', '25%', 1, 1, 0],
    [0, '25%', 1, 0, 1],
    [0, 0, 5, 0, 1],
    ['100%', 0, 3, 3, 0],
    [2, 3, 5, 2, 3],
    [undefined, undefined, 5, 0, 1],
  ])(
    'surge %j, unavailable %j of %d: %d and %d',
    (surge, unavailable, replicas, maxSurge, maxUnavailable) => {
      expect(resolveLimits(surge, unavailable, replicas)).toEqual({ maxSurge, maxUnavailable });
    },
  );
});

interface Row {
  readonly name: string;
  readonly deployment?: Parameters<typeof deploymentOf>[0];
  readonly sets: readonly ReplicaSetFacts[];
  readonly more?: Partial<DeploymentInput>;
  readonly expected: Readonly<Record<string, number>>;
}

const unready = { ready: 0, available: 0 };

const rows: readonly Row[] = [
  { name: 'makes all pods of a new Deployment', sets: [], expected: { v2: 4 } },
  {
    name: 'starts an update with the surge, and deletes as many pods as may be unavailable',
    sets: [setOf('v1', 4)],
    expected: { v1: 3, v2: 1 },
  },
  {
    name: 'deletes no more pods while new ones are unavailable',
    sets: [setOf('v1', 3), setOf('v2', 2, { revision: 2, ...unready })],
    expected: { v1: 3, v2: 2 },
  },
  {
    name: 'grows before it shrinks',
    sets: [setOf('v1', 3), setOf('v2', 1, { revision: 2 })],
    expected: { v1: 3, v2: 2 },
  },
  {
    name: 'shrinks when it can’t grow',
    sets: [setOf('v1', 3), setOf('v2', 2, { revision: 2 })],
    expected: { v1: 1, v2: 2 },
  },
  {
    name: 'deletes unavailable old pods first',
    sets: [
      setOf('v0', 1),
      setOf('v1', 3, { revision: 2, ...unready }),
      setOf('v2', 1, { revision: 3, ...unready }),
    ],
    expected: { v0: 1, v1: 2, v2: 1 },
  },
  {
    name: 'does not count pods that are on their way out',
    deployment: { maxSurge: 0, maxUnavailable: 2 },
    sets: [
      setOf('v1', 2, { desired: 4, available: 4, actual: 4 }),
      setOf('v2', 2, { revision: 2, available: 0 }),
    ],
    expected: { v1: 2, v2: 2 },
  },
  {
    name: 'without a surge deletes first',
    deployment: { maxSurge: 0 },
    sets: [setOf('v1', 4)],
    expected: { v1: 3, v2: 0 },
  },
  {
    name: 'rolls back to an older template',
    sets: [setOf('v2', 0), setOf('v3', 4, { revision: 2 })],
    expected: { v2: 1, v3: 4 },
  },
  {
    name: 'scales the only one with pods at once',
    deployment: { replicas: 7 },
    sets: [setOf('v1', 0), setOf('v2', 4, { revision: 2 })],
    expected: { v1: 0, v2: 7 },
  },
  {
    name: 'scales in the midst of an update in proportion',
    deployment: { replicas: 10, maxSurge: 0 },
    sets: [
      setOf('v1', 3, { desired: 5, annotations: { [NAMES.desired]: '5', [NAMES.max]: '5' } }),
      setOf('v2', 2, { revision: 2, annotations: { [NAMES.desired]: '5', [NAMES.max]: '5' } }),
    ],
    expected: { v1: 6, v2: 4 },
  },
  {
    name: 'scales down to nothing in the midst of an update',
    deployment: { replicas: 0, maxSurge: 0 },
    sets: [setOf('v1', 3), setOf('v2', 2, { revision: 2 })],
    expected: { v1: 0, v2: 0 },
  },
  {
    name: 'paused, creates no ReplicaSet',
    deployment: { paused: true },
    sets: [setOf('v1', 4)],
    expected: { v1: 4 },
  },
  {
    name: 'paused, scales',
    deployment: { paused: true, replicas: 6 },
    sets: [setOf('v1', 4)],
    expected: { v1: 6 },
  },
  {
    name: 'Recreate deletes all pods first',
    deployment: { recreate: true, maxSurge: 0 },
    sets: [setOf('v1', 4, { annotations: {} })],
    expected: { v1: 0 },
  },
  {
    name: 'recreating, waits for the status of the old ones',
    deployment: { recreate: true, maxSurge: 0 },
    sets: [setOf('v1', 0, { actual: 1 })],
    expected: { v1: 0 },
  },
  {
    name: 'recreating, waits for old pods to end',
    deployment: { recreate: true, maxSurge: 0 },
    sets: [setOf('v1', 0)],
    more: { havePods: (uids) => uids.includes('uid-v1') },
    expected: { v1: 0 },
  },
  {
    name: 'Recreate creates all pods afterwards',
    deployment: { recreate: true, maxSurge: 0 },
    sets: [setOf('v1', 0)],
    more: { havePods: (uids) => uids.includes('uid-v2') },
    expected: { v1: 0, v2: 4 },
  },
  {
    name: 'on its way out, changes nothing',
    deployment: { deleting: true },
    sets: [setOf('v1', 4)],
    expected: { v1: 4 },
  },
];

describe('decideDeployment', () => {
  test.each(rows)('$name', ({ deployment, sets, more, expected }) => {
    expect(sizes(decide(deploymentOf(deployment), sets, more))).toEqual(expected);
  });

  test('a new ReplicaSet has a label and a selector of its own, the annotations, and a revision', () => {
    const annotations = { 'example.com/a': '1', [NAMES.revision]: '7' };
    const status = { replicas: 4, readyReplicas: 4, availableReplicas: 4 };
    const plan = decide(deploymentOf({ annotations, status }), [setOf('v1', 4, { revision: 7 })]);
    const hash = plan.sets.current?.template.metadata?.labels?.[HASH_LABEL] ?? '';
    expect(plan.sets.current).toMatchObject({
      name: `web-${hash}`,
      uid: '',
      selector: { matchLabels: { app: 'web', [HASH_LABEL]: hash } },
      annotations: { 'example.com/a': '1', [NAMES.revision]: '8', [NAMES.desired]: '4', [NAMES.max]: '5' },
    });
    expect(plan.revision).toBe('8');
    expect(conditionOf(plan, 'Progressing')).toMatchObject({ reason: 'NewReplicaSetCreated' });
  });

  test('another name after a collision', () => {
    const name = (collisionCount?: number): string =>
      decide(deploymentOf({ status: collisionCount === undefined ? {} : { collisionCount } }), []).sets
        .current?.name ?? '';
    expect(name(1)).not.toBe(name());
    expect(name(1)).toBe(name(1));
  });

  test('an older template that comes back is the newest revision, and remembers its former revision', () => {
    const plan = decide(deploymentOf(), [setOf('v2', 4, { revision: 1 }), setOf('v3', 0, { revision: 2 })]);
    expect(plan.sets.current?.annotations).toMatchObject({
      [NAMES.revision]: '3',
      [NAMES.revisionHistory]: '1',
    });
    expect(plan.revision).toBe('3');
  });

  test.each<readonly [string, string]>([
    ['9007199254740990', '9007199254740991'],
    ['9007199254740991', '9007199254740992'],
    ['9007199254740993', '9007199254740994'],
    ['9223372036854775806', '9223372036854775807'],
    ['9223372036854775807', '9223372036854775807'],
    ['9223372036854775808', '1'],
    ['-9223372036854775808', '1'],
    ['many', '1'],
  ])('after the revision %s comes %s', (revision, next) => {
    const annotations = { [NAMES.revision]: revision };
    const plan = decide(deploymentOf(), [setOf('v1', 4, { annotations })]);
    expect(plan.sets.current?.annotations[NAMES.revision]).toBe(next);
    const [left, right] = [
      setOf('v1', 0, { annotations }),
      setOf('v3', 0, { annotations: { [NAMES.revision]: next } }),
    ];
    expect(Math.sign(byRevision(NAMES)(left, right))).toBe(-1);
  });

  test('old ReplicaSets without pods go, beyond the limit and of the lowest revisions', () => {
    const done = { observedGeneration: 1, replicas: 4, updatedReplicas: 4, availableReplicas: 4 };
    const old = [1, 2, 3, 4].map((revision) => setOf(`o${revision}`, 0, { revision }));
    const sets = [...old, setOf('v2', 4, { revision: 5 })];
    const removed = (limit?: number, status = done): readonly string[] => {
      const { revisionHistoryLimit: _, ...base } = deploymentOf({ status });
      const deployment = limit === undefined ? base : { ...base, revisionHistoryLimit: limit };
      return decide(deployment, sets).remove.map(({ name }) => name);
    };
    expect(removed(2)).toEqual(['web-o1', 'web-o2']);
    expect(removed(10)).toEqual([]);
    expect(removed()).toEqual([]);
    expect(removed(0, { ...done, availableReplicas: 3 })).toEqual([]);
  });
});

describe('status', () => {
  const after = (reason: string, agoMs: number): object => ({
    type: 'Progressing',
    status: 'True',
    reason,
    lastUpdateTime: new Date(NOW_MS - agoMs).toISOString(),
    lastTransitionTime: 'before',
  });
  const counts = {
    observedGeneration: 1,
    replicas: 4,
    updatedReplicas: 2,
    readyReplicas: 4,
    availableReplicas: 4,
  };
  const sets = [setOf('v1', 2), setOf('v2', 2, { revision: 2 })];
  const withCondition = (condition: object): DeploymentInput['deployment'] =>
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the condition above
    deploymentOf({ status: { ...counts, conditions: [condition as never] } });

  test('counts, and reports that enough is available', () => {
    const { status } = decide(deploymentOf(), sets);
    expect(status).toMatchObject({ ...counts, conditions: expect.any(Array) as unknown });
    expect(status.conditions?.find(({ type }) => type === 'Available')).toMatchObject({
      status: 'True',
      reason: 'MinimumReplicasAvailable',
    });
  });

  test('reports when too few are available', () => {
    const plan = decide(deploymentOf(), [setOf('v2', 4, { ready: 2, available: 2 })]);
    expect(conditionOf(plan, 'Available')).toMatchObject({
      status: 'False',
      reason: 'MinimumReplicasUnavailable',
    });
    expect(plan.status.unavailableReplicas).toBe(2);
  });

  test('an update that made progress reports it, with the time', () => {
    const status = { ...counts, updatedReplicas: 1, conditions: [after('ReplicaSetUpdated', 5000) as never] };
    const plan = decide(deploymentOf({ status }), sets);
    expect(conditionOf(plan, 'Progressing')).toEqual({
      type: 'Progressing',
      status: 'True',
      reason: 'ReplicaSetUpdated',
      message: 'ReplicaSet "web-v2" is progressing.',
      lastUpdateTime: NOW,
      lastTransitionTime: 'before',
    });
  });

  test('an update that stands still is looked at again when its time is up', () => {
    const plan = decide(withCondition(after('ReplicaSetUpdated', 5000)), sets);
    expect(conditionOf(plan, 'Progressing')).toMatchObject({ reason: 'ReplicaSetUpdated' });
    expect(plan.recheckMs).toBe(596_000);
  });

  test('an update whose time is up has failed, and stays so while nothing happens', () => {
    const failed = { status: 'False', reason: 'ProgressDeadlineExceeded' };
    const plan = decide(withCondition(after('ReplicaSetUpdated', 600_001)), sets);
    expect(conditionOf(plan, 'Progressing')).toMatchObject(failed);
    expect(plan.recheckMs).toBeUndefined();
    const again = decide(withCondition({ ...after('ProgressDeadlineExceeded', 1000), ...failed }), sets);
    expect(conditionOf(again, 'Progressing')).toMatchObject(failed);
  });

  test('an update that is done has succeeded', () => {
    const plan = decide(withCondition(after('ReplicaSetUpdated', 1000)), [
      setOf('v1', 0),
      setOf('v2', 4, { revision: 2 }),
    ]);
    expect(conditionOf(plan, 'Progressing')).toMatchObject({
      status: 'True',
      reason: 'NewReplicaSetAvailable',
    });
    expect(plan.recheckMs).toBeUndefined();
  });

  test('pods that fail later don’t undo that', () => {
    const plan = decide(withCondition(after('NewReplicaSetAvailable', 9_000_000)), [
      setOf('v2', 4, { ready: 0, available: 0 }),
    ]);
    expect(conditionOf(plan, 'Progressing')).toMatchObject({ reason: 'NewReplicaSetAvailable' });
  });

  test('pausing and going on show', () => {
    const paused = decide(deploymentOf({ paused: true }), [setOf('v2', 4)]);
    expect(conditionOf(paused, 'Progressing')).toMatchObject({
      status: 'Unknown',
      reason: 'DeploymentPaused',
    });
    const resumed = decide(withCondition({ ...after('DeploymentPaused', 0), status: 'Unknown' }), sets);
    expect(conditionOf(resumed, 'Progressing')).toMatchObject({
      status: 'Unknown',
      reason: 'DeploymentResumed',
    });
  });

  test('without a deadline progress is not reported', () => {
    const { progressDeadlineMs: _, ...deployment } = withCondition(after('ReplicaSetUpdated', 0));
    expect(conditionOf(decide(deployment, sets), 'Progressing')).toBeUndefined();
  });

  test('the failure of a ReplicaSet becomes a condition', () => {
    const failure = { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'quota' };
    const plan = decide(deploymentOf(), [setOf('v2', 4, { failure, actual: 0, ...unready })]);
    expect(conditionOf(plan, 'ReplicaFailure')).toMatchObject({ reason: 'FailedCreate', message: 'quota' });
  });

  test('templates differ by more than the label', () => {
    const template = templateOf('v2', { other: 'x' });
    expect(decide(deploymentOf({ template }), [setOf('v2', 4)]).sets.current?.uid).toBe('');
  });
});
