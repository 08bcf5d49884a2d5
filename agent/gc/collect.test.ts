import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { type CollectDeps, collectDead } from './collect.ts';
import type { GcContainer, GcObservation } from './dead-containers.ts';

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-gc-');
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

const gone: GcContainer = {
  containerID: 'c1',
  podUID: 'gone',
  name: 'web',
  sandboxID: 's1',
  state: 'CONTAINER_EXITED',
  createdAtMs: 0,
};
const observation: GcObservation = {
  containers: [
    gone,
    { ...gone, containerID: 'c2', sandboxID: 's2', podUID: 'here', state: 'CONTAINER_RUNNING' },
  ],
  sandboxes: [{ sandboxID: 's1', podUID: 'gone', state: 'SANDBOX_NOTREADY', createdAtMs: 0 }],
  isPodGone: (podUID) => podUID === 'gone',
  isPodOver: () => false,
  sourcesReady: true,
  nowMs: 1,
};

function setup(removeContainer?: () => Promise<never>) {
  const calls: string[] = [];
  const note = (call: string): Promise<Record<string, never>> => {
    calls.push(call);
    return Promise.resolve({});
  };
  const deps: CollectDeps = {
    runtime: {
      removeContainer: removeContainer ?? (({ containerId }) => note(`remove ${containerId}`)),
      stopPodSandbox: ({ podSandboxId }) => note(`stop ${podSandboxId}`),
      removePodSandbox: ({ podSandboxId }) => note(`removeBox ${podSandboxId}`),
    },
    links: {
      removeDead(live) {
        calls.push(`links but of ${[...live].join(' ')}`);
        return Promise.resolve(['x.log']);
      },
    },
    log: silentLogger,
  };
  const options = { podLogsDir: dir, policy: { maxContainers: -1, maxPerContainer: 1, minAgeMs: 0 } };
  return {
    calls,
    run: (signal = new AbortController().signal) => collectDead(deps, options, observation, signal),
  };
}

describe('collectDead', () => {
  test('removes containers, then sandboxes, log directories and links of removed pods', async () => {
    await mkdir(join(dir, 'ns_pod_gone', 'web'), { recursive: true });
    await writeFile(join(dir, 'ns_pod_gone', 'web', '0.log'), 'x');
    await mkdir(join(dir, 'ns_pod_here'));
    await mkdir(join(dir, 'not-ours'));
    const { calls, run } = setup();
    expect(await run()).toEqual({ containers: 1, sandboxes: 1, logDirs: 1, links: 1 });
    expect(calls).toEqual(['remove c1', 'stop s1', 'removeBox s1', 'links but of c2']);
    expect((await readdir(dir)).sort()).toEqual(['not-ours', 'ns_pod_here']);
  });

  test('continues after a failure, and without a log directory', async () => {
    await rm(dir, { recursive: true });
    const { run } = setup(() => Promise.reject(new Error('busy')));
    expect(await run()).toEqual({ containers: 0, sandboxes: 1, logDirs: 0, links: 1 });
  });

  test('removes a symlink in the place of a log directory, not what it points to', async () => {
    await mkdir(join(dir, 'kept'));
    await writeFile(join(dir, 'kept', 'file'), 'x');
    await symlink(join(dir, 'kept'), join(dir, 'ns_pod_gone'));
    await setup().run();
    expect(await readdir(dir)).toEqual(['kept']);
    expect(await readdir(join(dir, 'kept'))).toEqual(['file']);
  });

  test('stops on abort', async () => {
    const controller = new AbortController();
    controller.abort(new Error('shutting down'));
    const { calls, run } = setup();
    await expect(run(controller.signal)).rejects.toThrow('shutting down');
    expect(calls).toEqual([]);
  });
});
