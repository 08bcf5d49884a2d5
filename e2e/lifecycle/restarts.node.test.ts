/** Restart policies, crash loops, terminal phases, and deadlines of pods. */
import { describe, expect, test } from 'vitest';
import {
  hasPhase,
  isRunning,
  isWaiting,
  pod,
  restarts,
  sh,
  startHarness,
  statusOf,
  useHarness,
  WAIT,
} from './support.ts';

describe.concurrent('restarts', () => {
  const harness = useHarness();

  test('Always: starts a container that ended well again, at once the first time', async () => {
    await harness.agent.put(
      'always.json',
      pod('always', { containers: [sh('c', '[ -e /proc/1/cwd ]; exit 0')] }),
    );
    const found = await harness.agent.waitFor('always', isWaiting('c', 'CrashLoopBackOff'));
    const status = statusOf(found, 'c');
    expect(status?.restartCount).toBe(1);
    expect(status?.lastState?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
    const [first, second] = await Promise.all([
      harness.logs('always', 'c', /^/),
      harness.agent.events('always'),
    ]);
    expect(first).toBe('');
    expect(second.filter(({ reason }) => reason === 'Started').length).toBeGreaterThan(0);
  });

  test('crash loop: the first restart is immediate, the second waits 10 s and says so', {
    timeout: 120_000,
  }, async () => {
    await harness.agent.put('crash.json', pod('crash', { containers: [sh('c', 'date +%s; exit 3')] }));
    const found = await harness.agent.waitFor('crash', isWaiting('c', 'CrashLoopBackOff'));
    const status = statusOf(found, 'c');
    expect(status?.state?.waiting?.message).toMatch(
      /^back-off 10s restarting failed container=c pod=crash-n1_default\(/,
    );
    expect(status?.lastState?.terminated).toMatchObject({ exitCode: 3, reason: 'Error' });
    expect(found.status?.phase).toBe('Running');
    const before = String(await harness.agent.get('/containerLogs/default/crash-n1/c?previous=true'));
    const now = await harness.logs('crash', 'c', /\d/);
    // Allows for a slow machine, but is less than any backoff.
    expect(Number(now) - Number(before)).toBeLessThan(10);

    const again = await harness.agent.waitFor(
      'crash',
      (p) => (statusOf(p, 'c')?.restartCount ?? 0) >= 2,
      40_000,
    );
    expect(statusOf(again, 'c')?.restartCount).toBe(2);
    const third = await harness.logs('crash', 'c', /\d/);
    expect(Number(third) - Number(now)).toBeGreaterThanOrEqual(10);
    expect(Number(third) - Number(now)).toBeLessThan(20);
    await harness.agent.waitFor('crash', (p) =>
      /back-off 20s/.test(statusOf(p, 'c')?.state?.waiting?.message ?? ''),
    );
    await harness.event('crash', 'BackOff', /restarting failed container/i);
  });

  test('OnFailure: starts what failed again until it succeeds, and leaves alone what succeeded', async () => {
    await harness.agent.put(
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
    const found = await harness.agent.waitFor('onfailure', hasPhase('Succeeded'));
    expect(statusOf(found, 'good')).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 0 } },
    });
    expect(statusOf(found, 'second')).toMatchObject({
      restartCount: 1,
      state: { terminated: { exitCode: 0 } },
    });
  });

  test('Never: phases Succeeded and Failed, with every container’s final state retained', async () => {
    const never = { restartPolicy: 'Never' } as const;
    await harness.agent.put('good.json', pod('good', { ...never, containers: [sh('c', 'exit 0')] }));
    await harness.agent.put(
      'bad.json',
      pod('bad', { ...never, containers: [sh('c', 'exit 7'), sh('d', 'exit 0')] }),
    );
    const good = await harness.agent.waitFor('good', hasPhase('Succeeded'));
    expect(statusOf(good, 'c')).toMatchObject({ restartCount: 0, ready: false });
    expect(good.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Ready', status: 'False', reason: 'PodCompleted' }),
    );
    const bad = await harness.agent.waitFor('bad', hasPhase('Failed'));
    expect(statusOf(bad, 'c')?.state?.terminated).toMatchObject({ exitCode: 7, reason: 'Error' });
    expect(statusOf(bad, 'd')?.state?.terminated).toMatchObject({ exitCode: 0, reason: 'Completed' });
  });

  test('activeDeadlineSeconds: ends the pod for good', async () => {
    await harness.agent.put(
      'deadline.json',
      pod('deadline', { activeDeadlineSeconds: 12, containers: [sh('c', WAIT)] }),
    );
    await harness.agent.waitFor('deadline', isRunning('c'));
    const found = await harness.agent.waitFor(
      'deadline',
      (p) => statusOf(p, 'c')?.state?.terminated !== undefined,
      40_000,
    );
    expect(found.status).toMatchObject({ phase: 'Failed', reason: 'DeadlineExceeded' });
  });

  test('a container killed from outside comes back', async () => {
    await harness.agent.put('killed.json', pod('killed', { containers: [sh('c', 'sleep 1000')] }));
    const found = await harness.agent.waitFor('killed', isRunning('c'));
    const id = statusOf(found, 'c')?.containerID?.split('//')[1] ?? '';
    await harness.cri.runtime.stopContainer({ containerId: id, timeout: 0n });
    const again = await harness.agent.waitFor('killed', restarts('c', 1));
    expect(statusOf(again, 'c')?.lastState?.terminated).toMatchObject({ exitCode: 137 });
  });
});

test('pods that ended stay ended when the agent starts anew', async () => {
  await using harness = await startHarness();
  await harness.agent.put(
    'done.json',
    pod('done', { restartPolicy: 'Never', containers: [sh('c', 'exit 5')] }),
  );
  await harness.agent.put('runs.json', pod('runs', { containers: [sh('c', WAIT)] }));
  const before = await harness.agent.waitFor('done', hasPhase('Failed'));
  const running = await harness.agent.waitFor('runs', isRunning('c'));
  await harness.agent.stop('SIGKILL');
  await harness.agent.start();
  const after = await harness.agent.waitFor('done', hasPhase('Failed'));
  const { exitCode, finishedAt } = statusOf(before, 'c')?.state?.terminated ?? {};
  expect(statusOf(after, 'c')?.state?.terminated).toMatchObject({ exitCode, finishedAt, reason: 'Error' });
  expect(statusOf(after, 'c')?.containerID).toBe(statusOf(before, 'c')?.containerID);
  const adopted = await harness.agent.waitFor('runs', isRunning('c'));
  const { containerID, restartCount } = statusOf(running, 'c') ?? {};
  expect(statusOf(adopted, 'c')).toMatchObject({ containerID, restartCount });
});
