/** Ephemeral containers, and streams to running containers. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import {
  containerId,
  hasEnded,
  hasPhase,
  holds,
  IMAGE,
  isRunning,
  isWaiting,
  pod,
  sh,
  startHarness,
  statusOf,
  useHarness,
  WAIT,
} from './support.ts';

describe.concurrent('ephemeral containers', () => {
  const harness = useHarness();

  const add = (name: string, body: object | string): Promise<unknown> =>
    harness.agent.call(
      'POST',
      `/pods/default/${name}-n1/ephemeralcontainers`,
      typeof body === 'string' ? body : JSON.stringify(body),
    );

  test('is started once beside the others, in the target’s process namespace, and stays ended', async () => {
    await harness.agent.put('eph.json', pod('eph', { hostNetwork: false, containers: [sh('app', WAIT)] }));
    const before = await harness.agent.waitFor('eph', isRunning('app'));
    const response = (await add('eph', {
      ...sh('debug', 'tr "\\0" " " < /proc/1/cmdline; echo; hostname; exit 3'),
      targetContainerName: 'app',
    })) as Pod;
    expect(response.spec?.ephemeralContainers).toMatchObject([
      { name: 'debug', imagePullPolicy: 'IfNotPresent', terminationMessagePolicy: 'File' },
    ]);

    const after = await harness.agent.waitFor('eph', hasEnded('debug'));
    expect(statusOf(after, 'debug')).toMatchObject({
      restartCount: 0,
      state: { terminated: { exitCode: 3, reason: 'Error' } },
    });
    expect(after.status?.ephemeralContainerStatuses).toHaveLength(1);
    expect(containerId(after, 'app')).toBe(containerId(before, 'app'));
    expect(after.metadata?.uid).toBe(before.metadata?.uid);
    expect(await harness.logs('eph', 'debug', /eph/)).toMatch(/^sh -c trap exit TERM.*\neph-n1\n$/);
    const first = containerId(after, 'debug');
    const same = (found: Pod | undefined): boolean =>
      found !== undefined && containerId(found, 'debug') === first && hasEnded('debug')(found);
    await holds(async () => same(await harness.agent.pod('eph')), 2_000);
    // The container stays although the manifest that is read again does not contain it.
    await harness.agent.put('eph.json', pod('eph', { hostNetwork: false, containers: [sh('app', WAIT)] }));
    await holds(async () => same(await harness.agent.pod('eph')), 1_500);
    expect(containerId((await harness.agent.pod('eph')) ?? {}, 'app')).toBe(containerId(before, 'app'));
  });

  test('rejects invalid ephemeral containers, with every validation error', async () => {
    await harness.agent.put('bad.json', pod('bad', { containers: [sh('app', WAIT)] }));
    await harness.agent.waitFor('bad', isRunning('app'));
    const wrong = add('bad', {
      name: 'app',
      image: IMAGE,
      ports: [{ containerPort: 80 }],
      targetContainerName: 'x',
      y: 1,
    });
    const at = 'spec.ephemeralContainers[0]';
    const error = await wrong.then(String, String);
    expect(error).toContain(': 422 ');
    for (const member of ['name', 'ports', 'targetContainerName', 'y'])
      expect(error).toContain(`${at}.${member}: `);
    await expect(add('bad', '{')).rejects.toThrow(': 400 ');
    await expect(add('bad', '')).rejects.toThrow('one EphemeralContainer');
    await expect(add('none', { name: 'a', image: IMAGE })).rejects.toThrow(': 404 ');
    expect((await harness.agent.pod('bad'))?.spec?.ephemeralContainers).toBeUndefined();
  });

  test('accepts YAML, uses a volume that no other container uses, and debugs a pod that never starts', async () => {
    const spec = {
      restartPolicy: 'OnFailure' as const,
      volumes: [{ name: 'data', emptyDir: {} }],
      initContainers: [sh('setup', 'exit 1')],
      containers: [sh('app', WAIT)],
    };
    await harness.agent.put('stuck.json', pod('stuck', spec));
    await harness.agent.waitFor('stuck', isWaiting('setup', 'CrashLoopBackOff'));
    await add(
      'stuck',
      `name: look\nimage: ${IMAGE}\ncommand: [sh, -c, "echo here > /d/f; cat /d/f"]\nvolumeMounts:\n- {name: data, mountPath: /d}\n`,
    );
    const found = await harness.agent.waitFor('stuck', hasEnded('look'));
    expect(statusOf(found, 'look')?.state?.terminated?.exitCode).toBe(0);
    expect(await harness.logs('stuck', 'look')).toBe('here\n');
  });

  test('ends with its pod', async () => {
    await harness.agent.put(
      'job.json',
      pod('job', {
        restartPolicy: 'Never',
        containers: [sh('app', 'until [ -e /tmp/end ]; do sleep 0.05; done')],
      }),
    );
    await harness.agent.waitFor('job', isRunning('app'));
    await add('job', sh('debug', WAIT));
    const running = await harness.agent.waitFor('job', isRunning('debug'));
    await harness.exec(running, 'app', 'touch /tmp/end');
    const found = await harness.agent.waitFor('job', (p) => hasPhase('Succeeded')(p) && hasEnded('debug')(p));
    await expect(add('job', sh('late', WAIT))).rejects.toThrow(': 409 ');
    await harness.agent.drop('job.json');
    await harness.event('job', 'Killing', /debug/);
    expect(containerId(found, 'debug')).not.toBe('');
  });
});

describe('ephemeral containers and agent restarts', () => {
  test('keep running, are known to the next agent, and go with the pod', async () => {
    await using harness = await startHarness();
    const { agent } = harness;
    await agent.put('web.json', pod('web', { containers: [sh('app', WAIT)] }));
    await agent.waitFor('web', isRunning('app'));
    const path = '/pods/default/web-n1/ephemeralcontainers';
    await agent.call('POST', path, JSON.stringify(sh('once', 'echo ran; exit 0')));
    await agent.call('POST', path, JSON.stringify(sh('stays', WAIT)));
    const before = await agent.waitFor('web', (p) => hasEnded('once')(p) && isRunning('stays')(p));
    const record = join(agent.root, 'pods', before.metadata?.uid ?? '', 'pod.json');
    expect(await readFile(record, 'utf8')).toContain('"once"');

    await agent.stop('SIGKILL');
    await agent.start();
    const after = await agent.waitFor('web', (p) => isRunning('app', 'stays')(p) && hasEnded('once')(p));
    for (const name of ['app', 'once', 'stays'])
      expect(containerId(after, name)).toBe(containerId(before, name));
    await holds(async () => {
      const found = (await agent.pod('web')) ?? {};
      return containerId(found, 'once') === containerId(before, 'once');
    }, 2_000);

    // A changed manifest is another pod without ephemeral containers.
    await agent.put('web.json', pod('web', { containers: [sh('app', `: ; ${WAIT}`)] }));
    const replaced = await agent.waitFor(
      'web',
      (p) => p.metadata?.uid !== before.metadata?.uid && isRunning('app')(p),
    );
    expect(replaced.spec?.ephemeralContainers).toBeUndefined();
    const { containers } = await harness.cri.runtime.listContainers({});
    expect(containers.map(({ id }) => id)).not.toContain(containerId(before, 'stays'));
  });
});
