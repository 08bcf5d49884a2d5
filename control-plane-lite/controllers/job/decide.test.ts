import { describe, expect, test } from 'vitest';
import { decideJob, type JobInput, type JobPlan, retryDelayMs } from './decide.ts';
import { failed, jobOf, jobPodOf, NOW, NOW_MS, succeeded } from './job.fixture.ts';
import type { JobFacts, JobPod } from './model.ts';

const decide = (
  pods: readonly JobPod[],
  changes: Partial<JobFacts> = {},
  more: Partial<JobInput> = {},
): JobPlan => decideJob({ job: jobOf(changes), pods, nowMs: NOW_MS, reportReady: false, ...more });

/** Any pod that succeeds will do. */
function decideOpen(pods: readonly JobPod[]): JobPlan {
  const { completions: _, ...job } = jobOf();
  return decideJob({ job, pods, nowMs: NOW_MS, reportReady: false });
}

interface Row {
  readonly name: string;
  readonly pods: readonly JobPod[];
  readonly job?: Partial<JobFacts>;
  readonly create?: number;
  readonly remove?: readonly string[];
}

const INDEXED = { indexed: true };

const rows: readonly Row[] = [
  { name: 'makes as many as may run at a time', pods: [], create: 2 },
  { name: 'makes none while so many run', pods: [jobPodOf('a'), jobPodOf('b')] },
  { name: 'makes no more than are still needed', pods: [succeeded('a'), succeeded('b')], create: 1 },
  { name: 'makes none for what runs as the last', pods: [succeeded('a'), succeeded('b'), jobPodOf('c')] },
  { name: 'replaces what failed a while ago', pods: [failed('a'), jobPodOf('b')], create: 1 },
  { name: 'waits after a failure', pods: [failed('a', { finishedMs: NOW_MS - 1000 }), jobPodOf('b')] },
  {
    name: 'deletes pods beyond the parallelism',
    pods: [jobPodOf('a'), jobPodOf('b', { phase: 'Pending', ready: false })],
    job: { parallelism: 1 },
    remove: ['b'],
  },
  {
    name: 'suspended, deletes all pods',
    pods: [jobPodOf('a'), jobPodOf('b')],
    job: { suspended: true },
    remove: ['a', 'b'],
  },
  { name: 'suspended, makes none', pods: [], job: { suspended: true } },
  { name: 'on its way out, makes none', pods: [], job: { deleting: true } },
  {
    name: 'deletes pods with a duplicate or invalid index',
    pods: [
      jobPodOf('a', { index: 0 }),
      jobPodOf('b', { index: 0, ready: false }),
      jobPodOf('c'),
      jobPodOf('d', { index: 9 }),
    ],
    job: { ...INDEXED, parallelism: 4 },
    remove: ['b', 'c', 'd'],
  },
];

describe('decideJob', () => {
  test.each(rows)('$name', ({ pods, job, create = 0, remove = [] }) => {
    const plan = decide(pods, job);
    expect(plan.create).toHaveLength(create);
    expect(plan.remove.map(({ name }) => name)).toEqual(remove);
    expect(plan.status.conditions?.filter(({ type }) => type !== 'Suspended') ?? []).toEqual([]);
  });

  test('creates pods of the first incomplete indexes', () => {
    const pods = [succeeded('a', { index: 1 }), jobPodOf('b', { index: 0 })];
    const plan = decide(pods, { ...INDEXED, completions: 5, parallelism: 3 });
    expect(plan.create).toEqual([2, 3]);
    expect(plan.status).toMatchObject({ succeeded: 1, completedIndexes: '1', active: 1 });
  });

  test('an index counts once', () => {
    const pods = [succeeded('a', { index: 1 }), succeeded('b', { index: 1 }), succeeded('c', { index: 7 })];
    expect(decide(pods, INDEXED).status).toMatchObject({ succeeded: 1, completedIndexes: '1' });
  });

  test('is complete when all pods have succeeded and none is active', () => {
    const done = [succeeded('a'), succeeded('b'), succeeded('c')];
    expect(decide([...done, jobPodOf('d')]).status.conditions).toBeUndefined();
    const { status, events } = decide(done);
    expect(status).toMatchObject({
      succeeded: 3,
      completionTime: NOW,
      conditions: [{ type: 'Complete', status: 'True' }],
    });
    expect(events).toEqual([{ type: 'Normal', reason: 'Completed', message: 'Job completed' }]);
    const reasons = decide([...done, succeeded('d')]).events.map(({ reason }) => reason);
    expect(reasons).toEqual(['TooManySucceededPods', 'Completed']);
  });

  test('without completions is complete when any pod has succeeded and none is active', () => {
    expect(decideOpen([]).create).toHaveLength(2);
    expect(decideOpen([succeeded('a'), jobPodOf('b')])).toMatchObject({ create: [], remove: [] });
    expect(decideOpen([succeeded('a')]).status.conditions).toMatchObject([{ type: 'Complete' }]);
  });

  test.each<[string, Partial<JobFacts>, readonly JobPod[], string, number]>([
    [
      'after too many failures',
      { backoffLimit: 1 },
      [failed('a'), failed('b'), jobPodOf('r')],
      'BackoffLimitExceeded',
      3,
    ],
    [
      'after too many restarts',
      { backoffLimit: 2, restarting: true },
      [jobPodOf('r', { restartSum: 2 })],
      'BackoffLimitExceeded',
      1,
    ],
    [
      'after any restart, where none is allowed',
      { backoffLimit: 0, restarting: true },
      [jobPodOf('r', { restartSum: 1 })],
      'BackoffLimitExceeded',
      1,
    ],
    [
      'when its time is up',
      { activeDeadlineMs: 5000, status: { startTime: '2025-12-31T23:59:55Z' } },
      [jobPodOf('r')],
      'DeadlineExceeded',
      1,
    ],
  ])('fails %s', (_, job, pods, reason, count) => {
    const plan = decide(pods, job);
    expect(plan.remove.map(({ name }) => name)).toEqual(['r']);
    expect(plan.create).toEqual([]);
    expect(plan.status).toMatchObject({ failed: count, conditions: [{ type: 'Failed', reason }] });
    expect(plan.status.active).toBeUndefined();
    expect(plan.events).toMatchObject([{ type: 'Warning', reason }]);
  });

  test('restarts do not count as failures with restartPolicy Never', () => {
    expect(decide([jobPodOf('r', { restartSum: 9 })]).status.conditions).toBeUndefined();
  });

  test('a tracked job has failed only when all of its pods are counted', () => {
    const job = { tracked: true, backoffLimit: 0, status: { startTime: NOW, failed: 1 } };
    const first = decide([jobPodOf('r', { held: true })], job);
    expect(first.remove).toHaveLength(1);
    expect(first.status.conditions).toBeUndefined();
    const second = decide([jobPodOf('r', { held: true, deleting: true })], job);
    expect(second.status).toMatchObject({ uncountedTerminatedPods: { failed: ['uid-r'] } });
    expect(second.release).toHaveLength(1);
    expect(second.status.conditions).toBeUndefined();
    const third = decide([], { ...job, status: second.status });
    expect(third.status).toMatchObject({ failed: 2, conditions: [{ type: 'Failed' }] });
  });

  test('the start time is set on start and again on resume', () => {
    expect(decide([], { status: {} }).status.startTime).toBe(NOW);
    expect(decide([], { status: {}, suspended: true }).status.startTime).toBeUndefined();
    const conditions = [{ type: 'Suspended', status: 'True' }];
    const plan = decide([], { status: { startTime: '2025-01-01T00:00:00Z', conditions } });
    expect(plan.status).toMatchObject({
      startTime: NOW,
      conditions: [{ type: 'Suspended', status: 'False', reason: 'JobResumed' }],
    });
    expect(plan.events).toMatchObject([{ reason: 'Resumed' }]);
  });

  test('the Suspended condition is added once', () => {
    const plan = decide([], { suspended: true });
    expect(plan.status.conditions).toMatchObject([{ type: 'Suspended', status: 'True' }]);
    expect(decide([], { suspended: true, status: plan.status })).toMatchObject({
      events: [],
      status: plan.status,
    });
  });

  test('rechecks at the deadline or after the backoff', () => {
    const job = { activeDeadlineMs: 60_000 };
    expect(decide([jobPodOf('a'), jobPodOf('b')], job).recheckMs).toBe(60_000);
    expect(decide([failed('a', { finishedMs: NOW_MS - 4000 }), jobPodOf('b')], job).recheckMs).toBe(6000);
  });

  test('counts ready pods if the gate is on', () => {
    expect(decide([jobPodOf('a')], {}, { reportReady: true }).status.ready).toBe(1);
    expect(decide([], {}, { reportReady: true }).status.ready).toBe(0);
  });
});

describe('retryDelayMs', () => {
  const ago = (ms: number): { readonly finishedMs: number } => ({ finishedMs: NOW_MS - ms });
  test.each<[string, readonly JobPod[], number]>([
    ['none failed', [jobPodOf('a')], 0],
    ['one failed just now', [failed('a', ago(0))], 10_000],
    ['one failed a while ago', [failed('a', ago(4000))], 6000],
    ['three failed', [failed('a', ago(90_000)), failed('b', ago(50_000)), failed('c', ago(0))], 40_000],
    ['one has succeeded since', [failed('a', ago(3000)), succeeded('b', ago(1000))], 0],
    [
      'one has succeeded in between',
      [failed('a', ago(9000)), succeeded('b', ago(5000)), failed('c', ago(0))],
      10_000,
    ],
    ['very many failed', Array.from({ length: 50 }, (_, at) => failed(`${at}`, ago(0))), 360_000],
  ])('%s', (_, pods, expected) => {
    expect(retryDelayMs(pods, NOW_MS)).toBe(expected);
  });
});
