/** Replacement of a sandbox that dies, and recovery of its pod. */
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { hasPhase, pod, restarts, sh, statusOf, useHarness, WAIT } from './support.ts';

describe.concurrent('a sandbox that dies', () => {
  const harness = useHarness();

  /** By UID: other tests on this runtime may have pods of the same name. */
  async function sandboxes({ metadata: wanted }: Pod) {
    const { items } = await harness.cri.runtime.listPodSandbox({});
    return items
      .filter(({ metadata }) => metadata?.uid === wanted?.uid)
      .sort((a, b) => (a.metadata?.attempt ?? 0) - (b.metadata?.attempt ?? 0));
  }

  /** Repeated if necessary: the agent sees the sandbox die and stops it as well, and a network plugin
   *  may fail when two stops overlap ("no such device"). */
  const stop = (sandbox: { readonly id: string } | undefined) =>
    eventually(async () => {
      await harness.cri.runtime.stopPodSandbox({ podSandboxId: sandbox?.id ?? '' });
      return true;
    });

  test('is replaced, with its init containers run again and a new address', async () => {
    await harness.agent.put(
      'web.json',
      pod('web', {
        hostNetwork: false,
        volumes: [{ name: 'd', emptyDir: {} }],
        initContainers: [sh('i', 'echo init >> /d/ran', { volumeMounts: [{ name: 'd', mountPath: '/d' }] })],
        containers: [sh('c', WAIT, { volumeMounts: [{ name: 'd', mountPath: '/d' }] })],
      }),
    );
    const before = await harness.agent.waitFor('web', isReady);
    const [sandbox] = await sandboxes(before);
    await stop(sandbox);

    // The container may have been restarted in the sandbox while that was still stopping.
    const after = await harness.agent.waitFor(
      'web',
      (p) =>
        restarts('c', 1)(p) &&
        statusOf(p, 'i')?.state?.terminated !== undefined &&
        statusOf(p, 'i')?.restartCount === 1,
    );
    expect(statusOf(after, 'i')?.state?.terminated?.exitCode).toBe(0);
    expect(await harness.exec(after, 'c', 'cat /d/ran')).toBe('init\ninit\n');
    expect(after.status?.podIP).toMatch(/^\d+\./);
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    const states = (await sandboxes(before)).map(({ state, metadata }) => [metadata?.attempt, state]);
    expect(states.at(-1)).toEqual([1, 'SANDBOX_READY']);
    expect(states.filter(([, state]) => state === 'SANDBOX_READY')).toHaveLength(1);
    expect(await harness.exec(after, 'c', 'hostname -i')).toContain(after.status?.podIP);
  });

  test('whose first process is killed is replaced too', async () => {
    await harness.agent.put('killed.json', pod('killed', { containers: [sh('c', WAIT)] }));
    const before = await harness.agent.waitFor('killed', isReady);
    const [sandbox] = await sandboxes(before);
    const { info } = await harness.cri.runtime.podSandboxStatus({
      podSandboxId: sandbox?.id ?? '',
      verbose: true,
    });
    const { pid } = JSON.parse(info['info'] ?? '{}') as { pid: number };
    process.kill(pid, 'SIGKILL');
    const after = await harness.agent.waitFor('killed', restarts('c', 1));
    expect(isReady(after)).toBe(true);
    expect(statusOf(after, 'c')?.lastState?.terminated?.exitCode).toBeTypeOf('number');
  });

  test('and is removed from the runtime altogether is replaced as well', async () => {
    await harness.agent.put('gone.json', pod('gone', { containers: [sh('c', WAIT)] }));
    const before = await harness.agent.waitFor('gone', isReady);
    const [sandbox] = await sandboxes(before);
    await stop(sandbox);
    // Repeated if necessary: the agent works on the same sandbox.
    await eventually(async () => {
      await harness.cri.runtime.removePodSandbox({ podSandboxId: sandbox?.id ?? '' });
      return true;
    });
    const first = statusOf(before, 'c')?.containerID;
    // The container may have been restarted in the sandbox while that was still stopping.
    const [ready, more] = await eventually(
      async () => {
        const found = (await sandboxes(before)).filter(({ state }) => state === 'SANDBOX_READY');
        return found.length > 0 && found;
      },
      { timeoutMs: 20_000, what: 'another sandbox' },
    );
    expect(ready?.id).not.toBe(sandbox?.id);
    expect(more).toBeUndefined();
    await harness.agent.waitFor('gone', (p) => isReady(p) && statusOf(p, 'c')?.containerID !== first);
    expect((await sandboxes(before)).filter(({ state }) => state === 'SANDBOX_READY')).toEqual([ready]);
  });

  test('ends a pod with restart policy Never', async () => {
    await harness.agent.put(
      'never.json',
      pod('never', { restartPolicy: 'Never', containers: [sh('c', WAIT)] }),
    );
    const before = await harness.agent.waitFor('never', isReady);
    const [sandbox] = await sandboxes(before);
    await stop(sandbox);
    const after = await harness.agent.waitFor(
      'never',
      (p) => hasPhase('Failed')(p) || hasPhase('Succeeded')(p),
    );
    expect(statusOf(after, 'c')?.restartCount).toBe(0);
    expect(await sandboxes(before)).toHaveLength(1);
  });
});
