/** Volumes that somebody else's program mounts, and claims that the agent makes for pods without a server. */
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PersistentVolumeClaimSpec } from '#api/schema/gen/core-v1.ts';
import { isReady } from '../../testing/agent.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';
import { type Bench, pod, sh, startBench, WAIT } from './support.ts';

let bench: Bench;
let plugins: TempDir;
beforeAll(async () => {
  plugins = await createTempDir('na-flex-');
  bench = await startBench([`--volume-plugin-dir=${plugins.path}`]);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await plugins[Symbol.asyncDispose]();
});

const user = (name: string): ReturnType<typeof sh> =>
  sh('c', `echo hello > /v/f; ${WAIT}`, { volumeMounts: [{ name, mountPath: '/v' }] });

const isGone = (name: string): Promise<boolean> =>
  eventually(async () => (await bench.agent.pod(name)) === undefined, { timeoutMs: 20_000 });

test('flexVolume: a driver that comes while the agent runs serves the pod that waits for it', async () => {
  const data = join(bench.agent.folder, 'flex-data');
  await mkdir(data);
  await bench.agent.put(
    'flex.json',
    pod('flex', {
      volumes: [{ name: 'v', flexVolume: { driver: 'acme/files' } }],
      containers: [user('v')],
    }),
  );
  await bench.event('flex', 'FailedMount', /flex driver acme\/files is not installed on this node/);
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
  await bench.agent.waitFor('flex', isReady);
  await bench.fileText(join(data, 'f'), /hello/);
  await bench.agent.drop('flex.json');
  await isGone('flex');
  expect(await readFile(join(data, 'f'), 'utf8')).toBe('hello\n');
  expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(data);
});

test('ephemeral: without a server, pods have volumes of the manifests one after the other', async () => {
  const path = join(bench.agent.folder, 'disk');
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
  await bench.agent.put('one.json', withScratch('one'));
  await bench.event('one', 'FailedMount', /fits claim default\/one-n1-v: the manifests have none/);
  await bench.agent.put(
    'disk.json',
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'PersistentVolume',
      metadata: { name: 'disk' },
      spec: { accessModes: claim.accessModes, capacity: { storage: '1Gi' }, hostPath: { path } },
    }),
  );
  await bench.agent.waitFor('one', isReady);
  // It runs a while before it has written.
  await bench.fileText(join(path, 'f'), /hello/);
  expect(await readdir(path)).toEqual(['f']);
  await bench.agent.put('two.json', withScratch('two'));
  await bench.event('two', 'FailedMount', /fits claim default\/two-n1-v: disk has another claim/);
  await bench.agent.drop('one.json');
  await isGone('one');
  await bench.agent.waitFor('two', isReady);
});
