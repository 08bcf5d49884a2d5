/** Restart policies, crash loops, phases that last, and pods that take too long. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  type Bench,
  hasPhase,
  isRunning,
  isWaiting,
  pod,
  restarts,
  sh,
  startBench,
  statusOf,
  WAIT,
} from './support.ts';

describe.concurrent('restarts', () => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await startBench();
  });
  afterAll(() => bench[Symbol.asyncDispose]());

  test('Always: starts a container that ended well again, at once the first time', async () => {
    await bench.agent.put(
      'always.json',
      pod('always', { containers: [sh('c', '[ -e /proc/1/cwd ]; exit 0')] }),
    );
    const found = await bench.agent.waitFor('always', isWaiting('c', 'CrashLoopBackOff'));
    const status = statusOf(found, 'c');
    expect(status?.restartCount).toBe(1);
    expect(status?.lastState?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    const [first, second] = await Promise.all([bench.logs('always', 'c', /^/), bench.agent.events('always')]);
    expect(first).toBe('');
    expect(second.filter(({ reason }) => reason === 'Started').length).toBeGreaterThan(0);
  });

  test('crash loop: the first restart is immediate, the second waits 10 s and says so', {
    timeout: 120_000,
  }, async () => {
    await bench.agent.put('crash.json', pod('crash', { containers: [sh('c', 'date +%s; exit 3')] }));
    const found = await bench.agent.waitFor('crash', isWaiting('c', 'CrashLoopBackOff'));
    const status = statusOf(found, 'c');
    expect(status?.state?.waiting?.message).toMatch(
      /^back-off 10s restarting failed container=c pod=crash-n1_default\(/,
    );
    expect(status?.lastState?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(found.status?.phase).toBe('Running');
    const before = String(await bench.agent.get('/containerLogs/default/crash-n1/c?previous=true'));
    const now = await bench.logs('crash', 'c', /\d/);
    // What the machine takes, and none of the times that there are to wait.
    expect(Number(now) - Number(before)).toBeLessThan(10);

    const again = await bench.agent.waitFor(
      'crash',
      (p) => (statusOf(p, 'c')?.restartCount ?? 0) >= 2,
      40_000,
    );
    expect(statusOf(again, 'c')?.restartCount).toBe(2);
    const third = await bench.logs('crash', 'c', /\d/);
    expect(Number(third) - Number(now)).toBeGreaterThanOrEqual(10);
    expect(Number(third) - Number(now)).toBeLessThan(20);
    await bench.agent.waitFor('crash', (p) =>
      /back-off 20s/.test(statusOf(p, 'c')?.state?.waiting?.message ?? ''),
    );
    await bench.event('crash', 'BackOff', /restarting failed container/i);
  });

  test('OnFailure: starts what failed again until it succeeds, and leaves alone what succeeded', async () => {
    await bench.agent.put(
      'onfailure.json',
      pod('onfailure', {
        restartPolicy: 'OnFailure',
        volumes: [{ name: 'd', emptyDir: {} }],
        containers: [
          sh('good', 'echo ran'),
          sh('second', '[ -e /d/x ] && exit 0; touch /d/x; exit 1', {
            volumeMounts: [{ name: 'd', mountPath: '/d' }],
          }),
        ],
      }),
    );
    const found = await bench.agent.waitFor('onfailure', hasPhase('Succeeded'));
    expect(statusOf(found, 'good')).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 0 } },
    });
    expect(statusOf(found, 'second')).toMatchObject({
      restartCount: 1,
      state: { terminated: { exitCode: 0 } },
    });
  });

  test('Never: phases Succeeded and Failed, with every container kept as it ended', async () => {
    const never = { restartPolicy: 'Never' } as const;
    await bench.agent.put('good.json', pod('good', { ...never, containers: [sh('c', 'exit 0')] }));
    await bench.agent.put(
      'bad.json',
      pod('bad', { ...never, containers: [sh('c', 'exit 7'), sh('d', 'exit 0')] }),
    );
    const good = await bench.agent.waitFor('good', hasPhase('Succeeded'));
    expect(statusOf(good, 'c')).toMatchObject({ restartCount: 0, ready: false });
    expect(good.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodCompleted' }),
    );
    const bad = await bench.agent.waitFor('bad', hasPhase('Failed'));
    expect(statusOf(bad, 'c')?.state?.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
    expect(statusOf(bad, 'd')?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
  });

  test('activeDeadlineSeconds: ends the pod for good', async () => {
    await bench.agent.put(
      'deadline.json',
      pod('deadline', { activeDeadlineSeconds: 12, containers: [sh('c', WAIT)] }),
    );
    await bench.agent.waitFor('deadline', isRunning('c'));
    const found = await bench.agent.waitFor(
      'deadline',
      (p) => statusOf(p, 'c')?.state?.terminated !== undefined,
      40_000,
    );
    expect(found.status).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  });

  test('a container killed from outside comes back', async () => {
    await bench.agent.put('killed.json', pod('killed', { containers: [sh('c', 'sleep 1000')] }));
    const found = await bench.agent.waitFor('killed', isRunning('c'));
    const id = statusOf(found, 'c')?.containerID?.split('//')[1] ?? '';
    await bench.cri.runtime.stopContainer({ containerId: id, timeout: 0n });
    const again = await bench.agent.waitFor('killed', restarts('c', 1));
    expect(statusOf(again, 'c')?.lastState?.terminated).toMatchObject({ exitCode: 137 });
  });
});

test('pods that ended stay ended when the agent starts anew', async () => {
  await using bench = await startBench();
  await bench.agent.put(
    'done.json',
    pod('done', { restartPolicy: 'Never', containers: [sh('c', 'exit 5')] }),
  );
  await bench.agent.put('runs.json', pod('runs', { containers: [sh('c', WAIT)] }));
  const before = await bench.agent.waitFor('done', hasPhase('Failed'));
  const running = await bench.agent.waitFor('runs', isRunning('c'));
  await bench.agent.stop('SIGKILL');
  await bench.agent.start();
  const after = await bench.agent.waitFor('done', hasPhase('Failed'));
  const { exitCode, finishedAt } = statusOf(before, 'c')?.state?.terminated ?? {};
  expect(statusOf(after, 'c')?.state?.terminated).toMatchObject({ exitCode, finishedAt, reason: 'Error' });
  expect(statusOf(after, 'c')?.containerID).toBe(statusOf(before, 'c')?.containerID);
  const adopted = await bench.agent.waitFor('runs', isRunning('c'));
  const { containerID, restartCount } = statusOf(running, 'c') ?? {};
  expect(statusOf(adopted, 'c')).toMatchObject({ containerID, restartCount });
});
