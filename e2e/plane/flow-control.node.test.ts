/** API priority and fairness, as upstream's end-to-end tests check it, and beyond. */
import { writeFile } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import { configMap, MERGE, type Plane, usePlane } from './support.ts';

const USERS = ['ann', 'bob', 'eve', 'noxu', 'foo'];
const withUsers =
  (...flags: readonly string[]) =>
  async (dir: string): Promise<readonly string[]> => {
    await writeFile(`${dir}/tokens`, USERS.map((name) => `${name}-t,${name},${name}\n`).join(''));
    return [`--token-auth-file=${dir}/tokens`, '--authorization-mode=AlwaysAllow', ...flags];
  };

const groupOf = ({ words }: Plane): string => `flowcontrol.apiserver.${words.apiGroupDomain}`;
const pathOf = (plane: Plane, plural: string, name = ''): string =>
  `/apis/${groupOf(plane)}/v1beta2/${plural}${name === '' ? '' : `/${name}`}`;

interface LevelOptions {
  readonly shares?: number;
  /** Absent: requests beyond the seats are rejected. */
  readonly queuing?: {
    readonly queues: number;
    readonly handSize: number;
    readonly queueLengthLimit: number;
  };
}

async function createLevel(plane: Plane, name: string, options: LevelOptions = {}): Promise<string> {
  const { shares = 1, queuing } = options;
  const limitResponse = queuing === undefined ? { type: 'Reject' } : { type: 'Queue', queuing };
  const { status, body } = await plane.post(pathOf(plane, 'prioritylevelconfigurations'), {
    apiVersion: `${groupOf(plane)}/v1beta2`,
    kind: 'PriorityLevelConfiguration',
    metadata: { name },
    spec: { type: 'Limited', limited: { assuredConcurrencyShares: shares, limitResponse } },
  });
  expect(status).toBe(201);
  return String(body.metadata.uid);
}

async function createSchema(
  plane: Plane,
  name: string,
  level: string,
  ...users: readonly string[]
): Promise<string> {
  const all = ['*'];
  const { status, body } = await plane.post(pathOf(plane, 'flowschemas'), {
    apiVersion: `${groupOf(plane)}/v1beta2`,
    kind: 'FlowSchema',
    metadata: { name },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: 1000,
      distinguisherMethod: { type: 'ByUser' },
      rules: [
        {
          subjects: users.map((user) => ({ kind: 'User', user: { name: user } })),
          resourceRules: [
            { verbs: all, apiGroups: all, resources: all, namespaces: all, clusterScope: true },
          ],
          nonResourceRules: [{ verbs: all, nonResourceURLs: all }],
        },
      ],
    },
  });
  expect(status).toBe(201);
  return String(body.metadata.uid);
}

/** UIDs in the headers of a response. */
async function classOf(plane: Plane, user: string, path = '/version'): Promise<readonly unknown[]> {
  const { headers } = await plane.as(`${user}-t`).get(path);
  const { flowSchemaHeader, priorityLevelHeader } = plane.words;
  return [headers[flowSchemaHeader.toLowerCase()], headers[priorityLevelHeader.toLowerCase()]];
}

async function metric(plane: Plane, name: string): Promise<number> {
  const { text } = await plane.get('/metrics');
  const line = text.split('\n').find((each) => each.startsWith(`apiserver_flowcontrol_${name} `));
  return Number(line?.split(' ').at(-1) ?? Number.NaN);
}

const MAPS = '/api/v1/namespaces/default/configmaps';

/** A create that occupies a seat until it is released. */
function slowCreate(plane: Plane, user: string, name: string) {
  const gate = Promise.withResolvers<void>();
  const text = JSON.stringify(configMap(name));
  async function* pieces(): AsyncGenerator<Buffer> {
    yield Buffer.from(text.slice(0, 5));
    await gate.promise;
    yield Buffer.from(text.slice(5));
  }
  const done = request(plane.server.url + MAPS, {
    method: 'POST',
    dispatcher: plane.server.anonymousAgent,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${user}-t` },
    body: Readable.from(pieces()),
  }).then(async ({ statusCode, body }) => {
    await body.dump();
    return statusCode;
  });
  return { done, release: () => gate.resolve() };
}

describe.each(['plat', 'kubernetes'] as const)('the vocabulary %s', (vocabulary) => {
  const plane = usePlane(vocabulary, withUsers());

  test('has the default objects, with status and annotation', async () => {
    await eventually(async () => {
      const { body } = await plane.get(pathOf(plane, 'flowschemas'));
      expect(body.items).toHaveLength(13);
      for (const { metadata, status } of body.items) {
        expect(metadata).toMatchObject({
          generation: 1,
          annotations: { [`apf.${plane.words.domain}/autoupdate-spec`]: 'true' },
        });
        expect(status).toMatchObject({
          conditions: [{ type: 'Dangling', status: 'False', reason: 'Found' }],
        });
      }
      return true;
    });
    const { body } = await plane.get(pathOf(plane, 'prioritylevelconfigurations'));
    expect(body.items.map(({ metadata }) => metadata.name)).toEqual([
      'catch-all',
      'exempt',
      'global-default',
      'leader-election',
      'node-high',
      'system',
      'workload-high',
      'workload-low',
    ]);
  });

  test('requests can be classified by adding a FlowSchema and a PriorityLevelConfiguration', async () => {
    const level = await createLevel(plane, 'e2e-testing-prioritylevel');
    const schema = await createSchema(plane, 'e2e-testing-flowschema', 'e2e-testing-prioritylevel', 'noxu');
    expect(await classOf(plane, 'noxu')).toEqual([schema, level]);
    const other = await classOf(plane, 'foo');
    expect(other).toEqual([
      expect.stringMatching(/^[0-9a-f-]{36}$/),
      expect.stringMatching(/^[0-9a-f-]{36}$/),
    ]);
    expect(other).not.toContain(schema);
    await eventually(async () => {
      const { body } = await plane.get(pathOf(plane, 'flowschemas', 'e2e-testing-flowschema'));
      expect(body.status).toMatchObject({ conditions: [{ type: 'Dangling', status: 'False' }] });
      return true;
    });
  });
});

describe('objects that change', () => {
  const plane = usePlane('plat', withUsers());

  test('take effect at once: a level that is missing, created and deleted', async () => {
    const schema = await createSchema(plane, 'early', 'late', 'ann');
    const condition = async (): Promise<unknown> =>
      (await plane.get(pathOf(plane, 'flowschemas', 'early'))).body.status;
    await eventually(async () => {
      expect(await condition()).toMatchObject({ conditions: [{ status: 'True', reason: 'NotFound' }] });
      return true;
    });
    expect(await classOf(plane, 'ann')).not.toContain(schema);
    const level = await createLevel(plane, 'late');
    expect(await classOf(plane, 'ann')).toEqual([schema, level]);
    await eventually(async () => {
      expect(await condition()).toMatchObject({ conditions: [{ status: 'False' }] });
      return true;
    });
    await plane.delete(pathOf(plane, 'prioritylevelconfigurations', 'late'));
    expect(await classOf(plane, 'ann')).not.toContain(schema);
    await eventually(async () => {
      expect(await condition()).toMatchObject({ conditions: [{ status: 'True' }] });
      return true;
    });
  });

  test('a limit that changes applies to the next request', async () => {
    await createLevel(plane, 'changing', { shares: 1 });
    const limit = 'request_concurrency_limit{priority_level="changing"}';
    const before = await metric(plane, limit);
    const spec = { limited: { assuredConcurrencyShares: 245 } };
    const path = pathOf(plane, 'prioritylevelconfigurations', 'changing');
    expect((await plane.patch(path, { spec }, MERGE)).status).toBe(200);
    expect(await metric(plane, limit)).toBeGreaterThan(50 * before);
  });
});

describe('a level of one seat', () => {
  const queuing = { queues: 8, handSize: 1, queueLengthLimit: 20 };
  // Of 10 seats, one for each tenth of the shares.
  const flags = ['--max-requests-inflight=5', '--max-mutating-requests-inflight=5', '--request-timeout=8s'];
  const plane = usePlane('plat', withUsers(...flags));
  const executing = 'current_executing_requests{priority_level="one",flow_schema="one"}';

  test('rejects the request beyond it with 429, and other levels go on', async () => {
    await createLevel(plane, 'one');
    await createSchema(plane, 'one', 'one', 'ann');
    expect(await metric(plane, 'request_concurrency_limit{priority_level="one"}')).toBe(1);
    const { done, release } = slowCreate(plane, 'ann', 'slow-1');
    await eventually(async () => {
      expect(await metric(plane, executing)).toBe(1);
      return true;
    });
    const rejected = await plane.as('ann-t').get(MAPS);
    expect([rejected.status, rejected.headers['retry-after'], rejected.body.reason]).toEqual([
      429,
      '1',
      'TooManyRequests',
    ]);
    expect(rejected.headers[plane.words.flowSchemaHeader.toLowerCase()]).toBeDefined();
    expect((await plane.as('bob-t').get(MAPS)).status).toBe(200);
    expect((await plane.get(MAPS)).status).toBe(200);
    release();
    expect(await done).toBe(201);
    expect((await plane.as('ann-t').get(MAPS)).status).toBe(200);
    expect(await metric(plane, executing)).toBe(0);
  });

  test('queues requests for a quarter of their time, shown by the dumps', async () => {
    const path = pathOf(plane, 'prioritylevelconfigurations', 'one');
    const limited = { limitResponse: { type: 'Queue', queuing } };
    expect((await plane.patch(path, { spec: { limited } }, MERGE)).status).toBe(200);
    const { done, release } = slowCreate(plane, 'ann', 'slow-2');
    await eventually(async () => {
      expect(await metric(plane, executing)).toBe(1);
      return true;
    });
    const startMs = performance.now();
    const waiting = plane.as('ann-t').get(`${MAPS}/x`);
    const dump = async (name: string): Promise<string> =>
      (await plane.get(`/debug/api_priority_and_fairness/${name}`)).text;
    await eventually(async () => {
      expect(await dump('dump_requests?includeRequestDetails=1')).toMatch(
        /^one, +one, +\d, +0, +ann, .* ann, +get, /m,
      );
      return true;
    });
    expect(await dump('dump_priority_levels')).toMatch(/^one, +1, +false, +false, +1, +1$/m);
    expect(await dump('dump_queues')).toMatch(/^one, +\d, +1, +1, /m);
    expect((await waiting).status).toBe(429);
    expect(performance.now() - startMs).toBeGreaterThan(1900);
    release();
    expect(await done).toBe(201);
  });

  test('watches hold it until they are initialized only', async () => {
    await using first = await plane.as('ann-t').watch(`${MAPS}?watch=1`);
    await using second = await plane.as('ann-t').watch(`${MAPS}?watch=1&resourceVersion=0`);
    expect([first.status, second.status]).toEqual([200, 200]);
    await eventually(async () => {
      expect(await metric(plane, executing)).toBe(0);
      return true;
    });
    expect((await plane.as('ann-t').get(MAPS)).status).toBe(200);
  });
});

/** Sends requests at a rate, at most `concurrency` of them at once; returns the share of them that succeeded. */
async function load(
  plane: Plane,
  user: string,
  { perSecond, concurrency, seconds }: { perSecond: number; concurrency: number; seconds: number },
): Promise<number> {
  let sent = 0;
  let succeeded = 0;
  const one = async (): Promise<void> => {
    const startMs = performance.now();
    for (let turn = 0; turn < perSecond * seconds; turn += 1) {
      const waitMs = startMs + (turn * 1000) / perSecond - performance.now();
      if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
      sent += 1;
      const { status } = await plane.as(`${user}-t`).get('/version');
      if (status === 200) succeeded += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, one));
  return succeeded / sent;
}

describe('requests are not drowned out', () => {
  const plane = usePlane('plat', withUsers());

  test('by those of another level (priority)', async () => {
    for (const user of ['ann', 'bob']) {
      await createLevel(plane, `level-${user}`);
      await createSchema(plane, `schema-${user}`, `level-${user}`, user);
    }
    const seats = await metric(plane, 'request_concurrency_limit{priority_level="level-ann"}');
    const [, low] = await Promise.all([
      load(plane, 'ann', { perSecond: 90, concurrency: 2 * seats, seconds: 2 }),
      load(plane, 'bob', { perSecond: 4, concurrency: Math.ceil(seats / 2), seconds: 2 }),
    ]);
    expect(low).toBeGreaterThanOrEqual(0.9);
  });

  test('by those of another user of the level (fairness)', async () => {
    await createLevel(plane, 'shared', { queuing: { queues: 64, handSize: 4, queueLengthLimit: 50 } });
    await createSchema(plane, 'shared', 'shared', 'eve', 'noxu');
    const seats = await metric(plane, 'request_concurrency_limit{priority_level="shared"}');
    const [high, low] = await Promise.all([
      load(plane, 'eve', { perSecond: 90, concurrency: 2 * seats, seconds: 2 }),
      load(plane, 'noxu', { perSecond: 4, concurrency: Math.ceil(seats / 2), seconds: 2 }),
    ]);
    expect([high >= 0.9, low]).toEqual([true, 1]);
  });
});

describe.each(['--enable-priority-and-fairness=false', '--feature-gates=APIPriorityAndFairness=false'])(
  'with %s',
  (flag) => {
    const plane = usePlane('plat', withUsers(flag));

    test('responses have no UIDs, nothing is created, and no path for debugging is served', async () => {
      expect(await classOf(plane, 'ann')).toEqual([undefined, undefined]);
      expect((await plane.get(pathOf(plane, 'flowschemas'))).body.items).toEqual([]);
      expect((await plane.get('/debug/api_priority_and_fairness/dump_queues')).status).toBe(404);
      expect((await plane.get('/metrics')).text).not.toContain('apiserver_flowcontrol');
    });
  },
);
