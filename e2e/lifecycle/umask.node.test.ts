/** An agent with the restrictive umask of its unit: files of pods have their usual modes, and the agent's own
 *  files are accessible only to root. */
import { chmod, mkdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Volume } from '#api/gen/core-v1.ts';
import { isReady, type TestAgent } from '../../testing/agent.ts';
import { createTempDir } from '../../testing/temp.ts';
import { configMap, type Harness, pod, secret, sh, startHarness, WAIT } from './support.ts';

let harness: Harness;
let agent: TestAgent;
beforeAll(async () => {
  const folder = await createTempDir('na-agent-');
  const root = join(folder.path, 'root');
  await mkdir(root);
  await chmod(root, 0o777);
  harness = await startHarness([], { umask: '077', folder });
  agent = harness.agent;
});
afterAll(() => harness[Symbol.asyncDispose]());

const modeOf = async (path: string): Promise<string> => ((await stat(path)).mode & 0o7777).toString(8);

test('volumes have their modes for a user that is not root', async () => {
  const volumes: readonly Volume[] = [
    { name: 'empty', emptyDir: {} },
    { name: 'memory', emptyDir: { medium: 'Memory' } },
    { name: 'map', configMap: { name: 'map', items: [{ key: 'a', path: 'below/a' }] } },
    { name: 'secret', secret: { secretName: 'secret', defaultMode: 0o444 } },
    {
      name: 'projected',
      projected: {
        sources: [
          { configMap: { name: 'map' } },
          { downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } },
        ],
      },
    },
    { name: 'folder', hostPath: { path: `${agent.folder}/host/below`, type: 'DirectoryOrCreate' } },
    { name: 'file', hostPath: { path: `${agent.folder}/file`, type: 'FileOrCreate' } },
  ];
  const mounts = volumes.map(({ name }) => ({ name, mountPath: `/v/${name}` }));
  const script = `
stat -L -c '%a %n' / /v/* /v/map/below /v/map/below/a /v/secret/a /v/projected/a /v/projected/name /etc/hosts /dev/termination-log
set -e
cat /v/map/below/a /v/secret/a /v/projected/a /v/projected/name /etc/hosts /etc/resolv.conf > /dev/null
echo x > /v/empty/x; echo x > /v/memory/x; echo x > /v/sub/x; ls /v/folder; cat /v/file; echo x > /dev/termination-log
id -u`;
  await agent.put('map.json', configMap('map', { a: '1' }));
  await agent.put('secret.json', secret('secret', { a: '1' }));
  await agent.put(
    'web.json',
    pod('web', {
      hostNetwork: false,
      securityContext: { runAsUser: 1000, runAsGroup: 1000 },
      volumes: [...volumes],
      containers: [
        sh('main', WAIT, {
          volumeMounts: [...mounts, { name: 'empty', mountPath: '/v/sub', subPath: 'sub/below' }],
        }),
      ],
    }),
  );
  const text = await harness.exec(await agent.waitFor('web', isReady), 'main', script);
  expect(text.trim().split('\n')).toEqual([
    '755 /',
    '777 /v/empty',
    '644 /v/file',
    '755 /v/folder',
    '755 /v/map',
    '1777 /v/memory',
    '755 /v/projected',
    '755 /v/secret',
    '777 /v/sub',
    '755 /v/map/below',
    '644 /v/map/below/a',
    '444 /v/secret/a',
    '644 /v/projected/a',
    '644 /v/projected/name',
    '644 /etc/hosts',
    '666 /dev/termination-log',
    '1000',
  ]);
});

test('an existing root directory is closed to others', async () => {
  expect(await modeOf(agent.root)).toBe('750');
});

test('folders that others look into are open', async () => {
  expect(await modeOf(`${agent.folder}/links`)).toBe('755');
  expect(await modeOf(`${agent.folder}/host`)).toBe('755');
});
