import { execFile } from 'node:child_process';
import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, inject, test } from 'vitest';
import { isReady, TestAgent } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const run = promisify(execFile);
const ROOT_BYTES = 2 * 1024 * 1024;

/** A folder whose `root` is a file system of its own, small enough to be filled. */
async function createSmallFolder(): Promise<TempDir> {
  const folder = await createTempDir('na-fault-');
  const root = join(folder.path, 'root');
  await mkdir(root);
  await run('mount', ['-t', 'tmpfs', '-o', `size=${ROOT_BYTES},mode=0750`, 'na-fault', root]);
  return {
    path: folder.path,
    async [Symbol.asyncDispose]() {
      // Processes that inspect all mounts of the machine hold this one for a moment.
      await eventually(() => run('umount', [root]));
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** Allocates every free byte. Returns a function that releases them. */
async function fill(dir: string): Promise<() => Promise<void>> {
  const path = join(dir, 'ballast');
  const file = await open(path, 'w');
  try {
    for (let size = 64 * 1024; size >= 1; size = Math.floor(size / 2)) {
      while (await appended(file, size));
    }
  } finally {
    await file.close();
  }
  return () => rm(path);
}

async function appended(file: Awaited<ReturnType<typeof open>>, size: number): Promise<boolean> {
  try {
    const { bytesWritten } = await file.write(Buffer.alloc(size));
    return bytesWritten === size;
  } catch (thrown) {
    if (thrown instanceof Error && 'code' in thrown && thrown.code === 'ENOSPC') return false;
    throw thrown;
  }
}

const manifest = (name: string, container: object = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'conf', configMap: { name: 'settings' } }],
      containers: [
        {
          name: 'c',
          image: 'local/busybox:1',
          command: ['sleep', '1000'],
          volumeMounts: [{ name: 'conf', mountPath: '/conf' }],
          ...container,
        },
      ],
    },
  });

const SETTINGS = JSON.stringify({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'settings' },
  data: { key: 'value' },
});

test('with a full disk running pods stay, new ones report why they wait, and start when there is space', async () => {
  await using agent = await TestAgent.create({
    endpoint: inject('criEndpoint'),
    folder: await createSmallFolder(),
  });
  const { pid } = agent;
  await agent.put('settings.json', SETTINGS);
  await agent.put(
    'old.json',
    manifest('old', {
      readinessProbe: {
        exec: { command: ['test', '!', '-e', '/tmp/no'] },
        periodSeconds: 1,
        timeoutSeconds: 10,
      },
    }),
  );
  const old = await agent.waitFor('old', isReady);

  const empty = await fill(agent.root);
  await agent.put('new.json', manifest('new'));
  const events = await eventually(async () => {
    const warnings = (await agent.events('new')).filter(({ type }) => type === 'Warning');
    return warnings.length > 0 && warnings;
  });
  expect(events[0]?.message).toMatch(/ENOSPC|no space left on device/i);
  const waiting = await agent.waitFor('new', ({ status }) => status?.phase === 'Pending');
  expect(waiting.status?.containerStatuses?.[0]?.state?.waiting?.reason).toBe('ContainerCreating');
  const still = await agent.pod('old');
  expect(still?.status?.containerStatuses).toEqual(old.status?.containerStatuses);
  expect(agent.pid).toBe(pid);
  expect(await agent.get('/healthz')).toBe('ok');

  await empty();
  await agent.waitFor('new', isReady, 30_000);
});

test('an agent started on a full disk adopts what runs, ends what is not wanted, and goes on when there is room', async () => {
  await using agent = await TestAgent.create({
    endpoint: inject('criEndpoint'),
    folder: await createSmallFolder(),
  });
  await agent.put('settings.json', SETTINGS);
  await agent.put('kept.json', manifest('kept'));
  await agent.put('gone.json', manifest('gone'));
  const kept = await agent.waitFor('kept', isReady);
  await agent.waitFor('gone', isReady);
  await agent.stop('SIGKILL');
  const empty = await fill(agent.root);
  await agent.drop('gone.json');
  await agent.put('new.json', manifest('new'));
  await agent.start();
  await eventually(
    async () => (await agent.pod('gone')) === undefined && (await agent.pod('new')) !== undefined,
    { timeoutMs: 30_000 },
  );
  const adopted = await agent.waitFor('kept', isReady);
  expect(adopted.status?.containerStatuses).toEqual(kept.status?.containerStatuses);
  await empty();
  await agent.waitFor('new', isReady, 30_000);
  expect((await agent.pod('kept'))?.status?.containerStatuses).toEqual(kept.status?.containerStatuses);
});
