/** Init containers in order, failing ones, and sidecars among them. */
import { describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { hasPhase, isRunning, isWaiting, pod, sh, statusOf, useHarness, WAIT } from './support.ts';

const volumes = [{ name: 'd', emptyDir: {} }];
const volumeMounts = [{ name: 'd', mountPath: '/d' }];
const note = (name: string, then = ''): string => `echo ${name} >> /d/order; ${then}`;

describe.concurrent('init containers', () => {
  const harness = useHarness();

  test('run one after the other, before all app containers, which start side by side', async () => {
    await harness.agent.put(
      'order.json',
      pod('order', {
        volumes,
        initContainers: ['i1', 'i2', 'i3'].map((name) =>
          sh(name, note(`${name}-begin`, `sleep 0.1; ${note(`${name}-end`)}`), { volumeMounts }),
        ),
        // Each app container waits for the other one: in a row they would never be ready.
        containers: [
          sh(
            'a',
            `${note('app')} touch /d/a; until [ -e /d/b ]; do sleep 0.05; done; touch /d/ok-a; ${WAIT}`,
            {
              volumeMounts,
              readinessProbe: { exec: { command: ['test', '-e', '/d/ok-a'] }, periodSeconds: 1 },
            },
          ),
          sh(
            'b',
            `${note('app')} touch /d/b; until [ -e /d/a ]; do sleep 0.05; done; touch /d/ok-b; ${WAIT}`,
            {
              volumeMounts,
              readinessProbe: { exec: { command: ['test', '-e', '/d/ok-b'] }, periodSeconds: 1 },
            },
          ),
        ],
      }),
    );
    const found = await harness.agent.waitFor('order', isReady);
    const order = await harness.exec(found, 'a', 'cat /d/order');
    expect(order.trim().replaceAll('\n', ' ')).toBe(
      'i1-begin i1-end i2-begin i2-end i3-begin i3-end app app',
    );
    expect(
      found.status?.initContainerStatuses?.map(({ ready, state }) => [ready, state?.terminated?.reason]),
    ).toEqual([
      [true, 'Completed'],
      [true, 'Completed'],
      [true, 'Completed'],
    ]);
    expect(found.status?.conditions).toContainEqual(
      expect.objectContaining({ type: 'Initialized', status: 'True' }),
    );
  });

  test('a failing one ends a pod with restart policy Never', async () => {
    await harness.agent.put(
      'never.json',
      pod('never', {
        restartPolicy: 'Never',
        initContainers: [sh('i', 'exit 4'), sh('later', 'exit 0')],
        containers: [sh('c', WAIT)],
      }),
    );
    const found = await harness.agent.waitFor('never', hasPhase('Failed'));
    expect(statusOf(found, 'i')?.state?.terminated).toMatchObject({ exitCode: 4, reason: 'Error' });
    expect(statusOf(found, 'later')?.containerID).toBeUndefined();
    expect(statusOf(found, 'c')?.containerID).toBeUndefined();
    expect(statusOf(found, 'c')?.state?.waiting?.reason).toBe('PodInitializing');
  });

  test('a failing one backs off with restart policy Always while the pod stays pending', async () => {
    await harness.agent.put(
      'retry.json',
      pod('retry', { initContainers: [sh('i', 'exit 4')], containers: [sh('c', WAIT)] }),
    );
    const found = await harness.agent.waitFor('retry', isWaiting('i', 'CrashLoopBackOff'));
    expect(found.status?.phase).toBe('Pending');
    expect(statusOf(found, 'i')).toMatchObject({
      restartCount: 1,
      lastState: { terminated: { exitCode: 4 } },
    });
    expect(statusOf(found, 'c')?.state?.waiting?.reason).toBe('PodInitializing');
    expect(found.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'Initialized',
        status: 'False',
        reason: 'ContainersNotInitialized',
        message: 'containers with incomplete status: [i]',
      }),
    );
  });

  test('sidecars start in order and stay; a startup probe holds back what follows; they end last', async () => {
    await harness.agent.put(
      'sidecar.json',
      pod('sidecar', {
        terminationGracePeriodSeconds: 20,
        volumes: [{ name: 'd', hostPath: { path: harness.agent.folder, type: 'Directory' } }],
        initContainers: [
          sh(
            'side',
            `echo side >> /d/order; trap 'echo side-end >> /d/order; exit' TERM; sleep 0.3; touch /tmp/up; while :; do sleep 0.05; done`,
            {
              volumeMounts,
              restartPolicy: 'Always',
              startupProbe: {
                exec: { command: ['test', '-e', '/tmp/up'] },
                periodSeconds: 1,
                failureThreshold: 10,
              },
            },
          ),
          sh('i', 'echo init >> /d/order', { volumeMounts }),
        ],
        containers: [
          sh(
            'c',
            `trap 'sleep 0.3; echo app-end >> /d/order; exit' TERM; echo app >> /d/order; while :; do sleep 0.05; done`,
            {
              volumeMounts,
            },
          ),
        ],
      }),
    );
    const found = await harness.agent.waitFor('sidecar', isReady);
    expect(isRunning('side', 'c')(found)).toBe(true);
    expect(statusOf(found, 'side')?.started).toBe(true);
    // By then both have installed their signal handlers.
    await harness.fileText(`${harness.agent.folder}/order`, /app/);
    await harness.agent.drop('sidecar.json');
    const order = await harness.fileText(`${harness.agent.folder}/order`, /side-end/);
    expect(order.trim().split('\n')).toEqual(['side', 'init', 'app', 'app-end', 'side-end']);
  });

  test('a sidecar that ends is started again while the app runs on, and ends with the pod', async () => {
    await harness.agent.put(
      'again.json',
      pod('again', {
        restartPolicy: 'Never',
        volumes,
        initContainers: [
          sh('side', `[ -e /d/x ] || { touch /d/x; exit 1; }; touch /d/y; ${WAIT}`, {
            volumeMounts,
            restartPolicy: 'Always',
          }),
        ],
        containers: [sh('c', 'until [ -e /d/y ]; do sleep 0.05; done; sleep 0.5', { volumeMounts })],
      }),
    );
    const found = await harness.agent.waitFor('again', hasPhase('Succeeded'));
    expect(statusOf(found, 'side')?.restartCount).toBe(1);
    await harness.agent.waitFor('again', (p) => statusOf(p, 'side')?.state?.terminated !== undefined);
    expect(statusOf(found, 'c')?.restartCount).toBe(0);
  });
});
