import { describe, expect, test } from 'vitest';
import type { FlowSchema, PriorityLevelConfiguration } from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { createMetricsRegistry } from '#api/kit/metrics.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { Admission } from './admission.ts';
import type { FlowRequest, FlowTarget } from './contract.ts';
import { flowDefaults } from './defaults.ts';
import { dumpLevels, dumpQueues, dumpRequests } from './dump.ts';
import { createFlowControl } from './flow-control.ts';

const never = (): void => undefined;

const level = (
  name: string,
  assuredConcurrencyShares: number,
  queueLengthLimit = 0,
): PriorityLevelConfiguration => ({
  metadata: { name, uid: `uid of ${name}` },
  spec: {
    type: 'Limited',
    limited: {
      assuredConcurrencyShares,
      limitResponse:
        queueLengthLimit === 0
          ? { type: 'Reject' }
          : { type: 'Queue', queuing: { queues: 8, handSize: 1, queueLengthLimit } },
    },
  },
});
const schemaOf = (name: string, levelName: string, ...users: readonly string[]): FlowSchema => ({
  metadata: { name, uid: `uid of ${name}` },
  spec: {
    priorityLevelConfiguration: { name: levelName },
    matchingPrecedence: 1000,
    distinguisherMethod: { type: 'ByUser' },
    rules: [
      {
        subjects: users.map((user) => ({ kind: 'User', user: { name: user } })),
        resourceRules: [
          { verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'], clusterScope: true },
        ],
        nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
      },
    ],
  },
});

const request = (user: string, change: Partial<FlowTarget> = {}, query?: string): FlowRequest => ({
  user: { name: user, groups: user === 'admin' ? ['system:masters'] : ['system:authenticated'], extra: {} },
  info: {
    verb: 'get',
    isResource: true,
    group: '',
    version: 'v1',
    resource: 'pods',
    subresource: '',
    namespace: 'n',
    name: 'a',
    path: '/api/v1/namespaces/n/pods/a',
    ...change,
  },
  hasQuery: query !== undefined,
  query: new URLSearchParams(query),
});

/** A level `queued` with 4 seats for ann and bob, and one `rejecting` with 2 for eve. */
function setUp(objects = 500) {
  const clock = createFakeClock();
  const registry = createMetricsRegistry();
  const defaults = flowDefaults(VOCABULARIES.kubernetes);
  const control = createFlowControl(
    { clock, registry, objectCount: () => objects },
    {
      defaults,
      readOnly: 4,
      mutating: 4,
      uidHeaders: { schema: 'FS', level: 'PL' },
      maxWaitMs: 15_000,
    },
  );
  const levels = [
    level('queued', 50, 2),
    level('rejecting', 25),
    level('catch-all', 25),
    { metadata: { name: 'exempt', uid: 'uid of exempt' }, spec: { type: 'Exempt' } },
  ];
  const exempt: FlowSchema = {
    ...schemaOf('exempt', 'exempt', 'admin'),
    spec: { ...schemaOf('exempt', 'exempt', 'admin').spec, priorityLevelConfiguration: { name: 'exempt' } },
  };
  const schemas = [schemaOf('q', 'queued', 'ann', 'bob'), schemaOf('r', 'rejecting', 'eve'), exempt];
  control.configure({ levels, schemas });
  const metric = (line: string): number => {
    const found = registry
      .text()
      .split('\n')
      .find((each) => each.startsWith(`apiserver_flowcontrol_${line} `));
    return Number(found?.split(' ').at(-1) ?? Number.NaN);
  };
  const arriveMany = (count: number, user: string): readonly Admission[] =>
    Array.from({ length: count }, () => control.arrive(request(user)));
  return { clock, registry, control, levels, schemas, metric, arriveMany };
}

const statesOf = (admissions: readonly Admission[]): string => admissions.map(({ state }) => state).join(' ');

describe('a request', () => {
  test('is executed, queued or rejected by its level, and the headers carry the UIDs', () => {
    const { arriveMany, control } = setUp();
    expect(statesOf(arriveMany(7, 'ann'))).toBe(
      'executing executing executing executing waiting waiting rejected',
    );
    expect(statesOf(arriveMany(3, 'eve'))).toBe('executing executing rejected');
    expect(statesOf(arriveMany(3, 'other'))).toBe('executing executing rejected');
    expect(statesOf(arriveMany(50, 'admin'))).not.toContain('waiting');
    expect(control.arrive(request('eve')).flow.headers).toEqual(['FS', 'uid of r', 'PL', 'uid of rejecting']);
    expect([control.count('readOnly'), control.waiting('readOnly')]).toEqual([58, 2]);
  });

  test('that waits gets the seats of one that ends', async () => {
    const { arriveMany, control, clock } = setUp();
    const [first, , , , waiting] = arriveMany(5, 'ann');
    if (first === undefined || waiting === undefined) throw new Error('no requests');
    const waited = control.wait(waiting, never);
    first.end();
    first.end();
    await waited;
    expect([waiting.state, control.count('readOnly'), control.waiting('readOnly')]).toEqual([
      'executing',
      4,
      0,
    ]);
    await control.wait(waiting, never);
    waiting.end();
    await expect(control.wait(waiting, never)).rejects.toMatchObject({ code: 429 });
    await clock.advance(0);
  });

  test('that waits too long is rejected with 429', async () => {
    const { arriveMany, control, clock, metric } = setUp();
    const waiting = arriveMany(5, 'ann').at(-1);
    if (waiting === undefined) throw new Error('no request');
    const waited = control.wait(waiting, never);
    await clock.advance(14_999);
    expect(waiting.state).toBe('waiting');
    await Promise.all([
      expect(waited).rejects.toMatchObject({ code: 429, details: { retryAfterSeconds: 1 } }),
      clock.advance(1),
    ]);
    expect(control.waiting('readOnly')).toBe(0);
    const flow = 'priority_level="queued",flow_schema="q"';
    expect(metric(`rejected_requests_total{${flow},reason="time-out"}`)).toBe(1);
    expect(metric(`request_wait_duration_seconds_sum{${flow},execute="false"}`)).toBe(15);
  });

  test('that is aborted, or whose owner gives it up, leaves its queue', async () => {
    const { arriveMany, control } = setUp();
    const [aborted, dropped] = arriveMany(6, 'ann').slice(4);
    if (aborted === undefined || dropped === undefined) throw new Error('no requests');
    let abort: (error: Error) => void = never;
    const waited = control.wait(aborted, (listener) => void (abort = listener));
    abort(new Error('gone'));
    await expect(waited).rejects.toThrow('gone');
    dropped.end();
    expect([statesOf([aborted, dropped]), control.waiting('readOnly')]).toEqual(['over over', 0]);
  });

  test('that lists many objects occupies many seats', () => {
    const { control } = setUp(150);
    const list = () => control.arrive(request('ann', { verb: 'list', name: '' }));
    expect([list().initialSeats, list().state]).toEqual([3, 'waiting']);
    expect(control.arrive(request('ann', { verb: 'list', name: '' }, 'limit=1')).initialSeats).toBe(1);
  });
});

describe('watches', () => {
  const watch = { verb: 'watch', name: '' };

  test('occupy a seat until they are initialized, and count until they end', async () => {
    const { control, clock, metric } = setUp();
    const watches = Array.from({ length: 20 }, () => {
      const admission = control.arrive(request('ann', watch));
      admission.release();
      return admission;
    });
    expect(control.count('readOnly')).toBe(0);
    const write = control.arrive(request('ann', { verb: 'update' }));
    expect([write.initialSeats, write.finalSeats, write.finalMs]).toEqual([1, 2, 5]);
    expect([control.count('mutating'), control.count('readOnly')]).toEqual([1, 0]);
    const inUse = 'request_concurrency_in_use{priority_level="queued",flow_schema="q"}';
    write.end();
    expect([control.count('mutating'), metric(inUse)]).toEqual([0, 2]);
    await clock.advance(5);
    expect(metric(inUse)).toBe(0);
    for (const admission of watches) admission.end();
    expect(control.arrive(request('ann', { verb: 'update' })).finalSeats).toBe(0);
  });

  test('of the pods of one node do not count', () => {
    const { control } = setUp();
    for (let count = 0; count < 20; count += 1) {
      control.arrive(request('admin', watch, 'fieldSelector=spec.nodeName%3Da')).release();
    }
    expect(control.arrive(request('ann', { verb: 'patch' })).finalSeats).toBe(0);
    for (let count = 0; count < 20; count += 1) control.arrive(request('admin', watch)).release();
    expect(control.arrive(request('ann', { verb: 'patch' })).finalSeats).toBe(2);
  });
});

describe('a change of the configuration', () => {
  test('takes effect on requests that wait', () => {
    const { arriveMany, control, levels, schemas } = setUp();
    const requests = arriveMany(6, 'ann');
    control.configure({
      schemas,
      levels: levels.map((each) => (each.metadata?.name === 'rejecting' ? level('rejecting', 1) : each)),
    });
    expect(statesOf(requests)).not.toContain('waiting');
  });

  test('that deletes a level lets its requests end, then the level', () => {
    const { arriveMany, control, levels, schemas } = setUp();
    const requests = arriveMany(6, 'ann');
    const names = () => control.levels().map(({ name }) => name);
    control.configure({ schemas, levels: levels.filter((each) => each.metadata?.name !== 'queued') });
    expect(names()).toContain('queued');
    expect(dumpLevels(control.levels())).toMatch(/^queued, +\d+, +false, +true, /m);
    const [after] = arriveMany(1, 'ann');
    expect(after?.level.name).toBe('catch-all');
    for (const each of requests) {
      expect(['executing', 'over']).toContain(each.state);
      each.end();
    }
    expect(names()).not.toContain('queued');
  });

  test('to a level that was deleted and created again continues with its requests', () => {
    const { arriveMany, control, levels, schemas } = setUp();
    const requests = arriveMany(6, 'ann');
    control.configure({ schemas, levels: levels.filter((each) => each.metadata?.name !== 'queued') });
    control.configure({ schemas, levels });
    for (const each of requests) each.end();
    expect(control.levels().find(({ name }) => name === 'queued')?.set?.isIdle).toBe(true);
    expect(statesOf(arriveMany(5, 'ann'))).toMatch(/waiting$/);
  });
});

test('the dumps show levels, queues and waiting requests', () => {
  const { arriveMany, control } = setUp();
  arriveMany(6, 'ann');
  const lines = dumpLevels(control.levels()).split('\n');
  expect(lines[0]).toBe(
    'PriorityLevelName, ActiveQueues, IsIdle, IsQuiescing, WaitingRequests, ExecutingRequests',
  );
  expect(lines.find((line) => line.startsWith('queued'))).toMatch(/^queued, +1, +false, +false, +2, +4$/);
  expect(lines.find((line) => line.startsWith('exempt'))).toMatch(/^exempt, +<none>, +<none>, /);
  const queue = dumpQueues(control.levels())
    .split('\n')
    .find((line) => line.startsWith('queued'));
  expect(queue).toMatch(/^queued, +\d, +2, +4, +4, +[\d.]+ss, +2, +2, +0\.00600000ss$/);
  const requests = dumpRequests(control.levels(), { details: true, wallTime: () => 0 }).split('\n');
  expect(requests).toHaveLength(4);
  expect(requests[2]).toMatch(
    /^queued, +q, +\d, +1, +ann, +1970-01-01T00:00:00\.000Z, +1, +0, +0ms, +ann, +get, +\/api\S+, +n, +a, +v1, +pods, +$/,
  );
  expect(dumpRequests(control.levels(), { details: false, wallTime: () => 0 })).not.toContain('UserName');
});

test('metrics have upstream’s names', () => {
  const { arriveMany, registry } = setUp();
  for (const each of arriveMany(7, 'ann')) each.end();
  const names = new Set(
    [...registry.text().matchAll(/^# TYPE apiserver_flowcontrol_(\S+)/gm)].map(([, name]) => name),
  );
  expect([...names].toSorted((a = '', b = '') => a.localeCompare(b))).toEqual([
    'current_executing_requests',
    'current_inqueue_requests',
    'current_r',
    'dispatch_r',
    'dispatched_requests_total',
    'epoch_advance_total',
    'latest_s',
    'next_discounted_s_bounds',
    'next_s_bounds',
    'priority_level_request_count_samples',
    'priority_level_request_count_watermarks',
    'priority_level_seat_count_samples',
    'priority_level_seat_count_watermarks',
    'read_vs_write_request_count_samples',
    'read_vs_write_request_count_watermarks',
    'rejected_requests_total',
    'request_concurrency_in_use',
    'request_concurrency_limit',
    'request_dispatch_no_accommodation_total',
    'request_execution_seconds',
    'request_queue_length_after_enqueue',
    'request_wait_duration_seconds',
    'watch_count_samples',
    'work_estimated_seats',
  ]);
});
