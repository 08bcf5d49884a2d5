/** Volumes of FlexVolume drivers, and claims that a standalone agent creates for pods. */
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PersistentVolumeClaimSpec } from '#api/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type Harness, pod, sh, startHarness, WAIT } from './support.ts';

let harness: Harness;
let plugins: TempDir;
beforeAll(async () => {
  plugins = await createTempDir('na-flex-');
  harness = await startHarness([`--volume-plugin-dir=${plugins.path}`]);
});
afterAll(async () => {
  await harness[Symbol.asyncDispose]();
  await plugins[Symbol.asyncDispose]();
});

const user = (name: string): ReturnType<typeof sh> =>
  sh('c', `echo hello > /v/f; ${WAIT}`, { volumeMounts: [{ name, mountPath: '/v' }] });

const isGone = (name: string): Promise<boolean> =>
  eventually(async () => (await harness.agent.pod(name)) === undefined, { timeoutMs: 20_000 });

test('flexVolume: a driver that comes while the agent runs serves the pod that waits for it', async () => {
  const data = join(harness.agent.folder, 'flex-data');
  await mkdir(data);
  await harness.agent.put(
    'flex.json',
    pod('flex', {
      volumes: [{ name: 'v', flexVolume: { driver: 'acme/files' } }],
      containers: [user('v')],
    }),
  );
  await harness.event('flex', 'FailedMount', /flex driver acme\/files is not installed on this node/);
  const program = join(plugins.path, 'acme~files/files');
  await mkdir(join(plugins.path, 'acme~files'));
  const script = `#!/bin/sh
case $1 in
init) echo '{"status":"Success","capabilities":{"attach":false}}';;
mount) mount --bind ${data} "$2" && echo '{"status":"Success"}';;
unmount) umount "$2" && echo '{"status":"Success"}';;
*) echo '{"status":"Not supported"}'; exit 1;;
esac
`;
  await writeFile(program, script);
  await chmod(program, 0o755);
  await harness.agent.waitFor('flex', isReady);
  await harness.fileText(join(data, 'f'), /hello/);
  await harness.agent.drop('flex.json');
  await isGone('flex');
  expect(await readFile(join(data, 'f'), 'utf8')).toBe('hello\n');
  expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(data);
});

test('ephemeral: without a server, pods have volumes of the manifests one after the other', async () => {
  const path = join(harness.agent.folder, 'disk');
  await mkdir(path);
  const claim: PersistentVolumeClaimSpec = {
    accessModes: ['ReadWriteOnce'],
    resources: { requests: { storage: '1Gi' } },
  };
  const withScratch = (name: string): string =>
    pod(name, {
      volumes: [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: claim } } }],
      containers: [user('v')],
    });
  await harness.agent.put('one.json', withScratch('one'));
  await harness.event('one', 'FailedMount', /matches claim default\/one-n1-v: the manifests define none/);
  await harness.agent.put(
    'disk.json',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'disk' },
      spec: { accessModes: claim.accessModes, capacity: { storage: '1Gi' }, hostPath: { path } },
    }),
  );
  await harness.agent.waitFor('one', isReady);
  // The container runs for a moment before it has written.
  await harness.fileText(join(path, 'f'), /hello/);
  expect(await readdir(path)).toEqual(['f']);
  await harness.agent.put('two.json', withScratch('two'));
  await harness.event(
    'two',
    'FailedMount',
    /matches claim default\/two-n1-v: disk is bound to another claim/,
  );
  await harness.agent.drop('one.json');
  await isGone('one');
  await harness.agent.waitFor('two', isReady);
});
