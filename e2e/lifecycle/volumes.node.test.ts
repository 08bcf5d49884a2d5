/** Volumes, seen from inside the containers. */
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { isReady } from '../../testing/agent.ts';
import { eventually } from '../../testing/wait.ts';
import { configMap, isWaiting, pod, restarts, secret, sh, statusOf, useHarness, WAIT } from './support.ts';

describe.concurrent('volumes', () => {
  const harness = useHarness();

  test('emptyDir: shared by the containers, on disk or in memory, preserved over a restart', async () => {
    const volumeMounts = [
      { name: 'disk', mountPath: '/disk' },
      { name: 'memory', mountPath: '/memory' },
    ];
    await harness.agent.put(
      'empty.json',
      pod('empty', {
        volumes: [
          { name: 'disk', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
        ],
        containers: [sh('a', WAIT, { volumeMounts }), sh('b', WAIT, { volumeMounts })],
      }),
    );
    const found = await harness.agent.waitFor('empty', isReady);
    await harness.exec(found, 'a', 'echo one > /disk/x; echo two > /memory/x');
    expect(await harness.exec(found, 'b', 'cat /disk/x /memory/x')).toBe('one\ntwo\n');
    expect(await harness.exec(found, 'b', 'stat -c %a /disk; grep " /memory " /proc/mounts')).toMatch(
      /^777\ntmpfs /,
    );
    await expect(harness.exec(found, 'b', 'dd if=/dev/zero of=/memory/big bs=1M count=2')).rejects.toThrow(
      /No space/,
    );
    const id = found.status?.containerStatuses?.[0]?.containerID?.split('//')[1] ?? '';
    await harness.cri.runtime.stopContainer({ containerId: id, timeout: 0n });
    const again = await harness.agent.waitFor('empty', restarts('a', 1));
    expect(await harness.exec(again, 'a', 'cat /disk/x')).toBe('one\n');
  });

  test('hostPath: every type accepts only what it names', async () => {
    const root = `${harness.agent.folder}/hp`;
    await mkdir(`${root}/dir`, { recursive: true });
    await writeFile(`${root}/file`, 'text');
    const types = [
      { name: 'any', hostPath: { path: `${root}/file` } },
      { name: 'dir', hostPath: { path: `${root}/dir`, type: 'Directory' } },
      { name: 'file', hostPath: { path: `${root}/file`, type: 'File' } },
      { name: 'new-dir', hostPath: { path: `${root}/new-dir`, type: 'DirectoryOrCreate' } },
      { name: 'new-file', hostPath: { path: `${root}/new-file`, type: 'FileOrCreate' } },
      { name: 'char', hostPath: { path: '/dev/null', type: 'CharDevice' } },
      { name: 'socket', hostPath: { path: harness.agent.socket, type: 'Socket' } },
    ] as const;
    const volumeMounts = types.map(({ name }) => ({ name, mountPath: `/m/${name}` }));
    await harness.agent.put(
      'hostpath.json',
      pod('hostpath', { volumes: types, containers: [sh('c', WAIT, { volumeMounts })] }),
    );
    const wrong = [{ name: 'v', hostPath: { path: `${root}/file`, type: 'Directory' } }] as const;
    await harness.agent.put(
      'wrong.json',
      pod('wrong', {
        volumes: wrong,
        containers: [sh('c', WAIT, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      }),
    );
    const found = await harness.agent.waitFor('hostpath', isReady);
    const kinds = await harness.exec(found, 'c', 'cd /m; for f in *; do stat -c "%n %F" $f; done');
    expect(kinds.trim().split('\n')).toEqual([
      'any regular file',
      'char character special file',
      'dir directory',
      'file regular file',
      'new-dir directory',
      'new-file regular empty file',
      'socket socket',
    ]);
    expect((await stat(`${root}/new-dir`)).mode & 0o777).toBe(0o755);
    expect((await stat(`${root}/new-file`)).mode & 0o777).toBe(0o644);
    await harness.event('wrong', 'FailedMount', /is not a directory/i);
    await harness.agent.waitFor('wrong', ({ status }) => {
      const message = status?.containerStatuses?.[0]?.state?.waiting?.message ?? '';
      return /^its volumes are not ready; the next try is at \d{4}-/.test(message);
    });
  });

  test('configMap, secret, downwardAPI and projected: contents, modes, items', async () => {
    await harness.agent.put('cm.json', configMap('files', { 'a.txt': 'A', 'b.txt': 'B' }));
    await harness.agent.put('s.json', secret('keys', { key: 'hidden' }));
    const items = [{ key: 'b.txt', path: 'deep/er/bee', mode: 0o400 }];
    await harness.agent.put(
      'content.json',
      pod(
        'content',
        {
          volumes: [
            { name: 'cm', configMap: { name: 'files' } },
            { name: 'items', configMap: { name: 'files', items, defaultMode: 0o640 } },
            { name: 'secret', secret: { secretName: 'keys', defaultMode: 0o400 } },
            {
              name: 'down',
              downwardAPI: {
                items: [
                  { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
                  {
                    path: 'cpu',
                    resourceFieldRef: { containerName: 'c', resource: 'limits.cpu', divisor: '1m' },
                  },
                ],
              },
            },
            {
              name: 'all',
              projected: {
                sources: [
                  { configMap: { name: 'files', items: [{ key: 'a.txt', path: 'one' }] } },
                  { secret: { name: 'keys', items: [{ key: 'key', path: 'two' }] } },
                  { downwardAPI: { items: [{ path: 'three', fieldRef: { fieldPath: 'metadata.name' } }] } },
                  { configMap: { name: 'not-there', optional: true } },
                ],
              },
            },
            { name: 'missing', secret: { secretName: 'not-there', optional: true } },
          ],
          containers: [
            sh('c', WAIT, {
              resources: { limits: { cpu: '250m' } },
              volumeMounts: ['cm', 'items', 'secret', 'down', 'all', 'missing'].map((name) => ({
                name,
                mountPath: `/v/${name}`,
              })),
            }),
          ],
        },
        { labels: { tier: 'front', app: 'x' } },
      ),
    );
    const found = await harness.agent.waitFor('content', isReady);
    const look = async (script: string): Promise<string> => (await harness.exec(found, 'c', script)).trim();
    expect(await look('cd /v/cm; ls; cat a.txt b.txt; stat -L -c %a a.txt')).toBe('a.txt\nb.txt\nAB644');
    expect(
      await look(
        'cd /v/items; find . -name "..*" -prune -o -type l -print; stat -L -c %a deep/er/bee; cat deep/er/bee',
      ),
    ).toContain('400\nB');
    expect(await look('cd /v/secret; cat key; stat -L -c " %a" key; grep /v/secret /proc/mounts')).toMatch(
      /^hidden 400\ntmpfs /,
    );
    expect(await look('cd /v/down; cat labels; echo; cat cpu')).toBe('app="x"\ntier="front"\n250');
    expect(await look('cd /v/all; cat one two three')).toBe('Ahiddencontent-n1');
    expect(await look('ls /v/missing')).toBe('');
    await expect(look('echo x > /v/cm/a.txt')).rejects.toThrow(/Read-only/);
  });

  test('a changed ConfigMap reaches the mounted files, in one step, and not the subPath', async () => {
    await harness.agent.put('live-cm.json', configMap('live', { version: '1', extra: 'x' }));
    const volumeMounts = [
      { name: 'cm', mountPath: '/cm' },
      { name: 'cm', mountPath: '/one/version', subPath: 'version' },
    ];
    await harness.agent.put(
      'live.json',
      pod('live', {
        volumes: [{ name: 'cm', configMap: { name: 'live' } }],
        containers: [sh('c', WAIT, { volumeMounts })],
      }),
    );
    const found = await harness.agent.waitFor('live', isReady);
    expect(await harness.exec(found, 'c', 'cat /cm/version /one/version')).toBe('11');
    await harness.agent.put('live-cm.json', configMap('live', { version: '2' }));
    await eventually(
      async () => (await harness.exec(found, 'c', 'cat /cm/version; ls /cm')) === '2version\n',
      {
        timeoutMs: 20_000,
      },
    );
    expect(await harness.exec(found, 'c', 'cat /one/version')).toBe('1');
  });

  test('a volume whose ConfigMap is missing holds the pod until it appears', async () => {
    await harness.agent.put(
      'late.json',
      pod('late', {
        volumes: [{ name: 'cm', configMap: { name: 'late' } }],
        containers: [sh('c', WAIT, { volumeMounts: [{ name: 'cm', mountPath: '/cm' }] })],
      }),
    );
    await harness.agent.waitFor('late', isWaiting('c', 'ContainerCreating'));
    await harness.event('late', 'FailedMount', /ConfigMap default\/late not found/);
    const startMs = Date.now();
    await harness.agent.put('late-cm.json', configMap('late', { k: 'v' }));
    const found = await harness.agent.waitFor('late', isReady);
    // The time of the retry; the duration of a start depends on the runtime.
    expect((await harness.imageLookedForAtMs('late')) - startMs).toBeLessThan(5_000);
    expect(await harness.exec(found, 'c', 'cat /cm/k')).toBe('v');
  });

  test('subPath: a part of a volume, created when missing, preserved over restarts', async () => {
    const volumeMounts = [
      { name: 'd', mountPath: '/all' },
      { name: 'd', mountPath: '/part', subPath: 'a/b' },
      { name: 'd', mountPath: '/named', subPathExpr: 'logs/$(WHO)' },
    ];
    await harness.agent.put(
      'sub.json',
      pod('sub', {
        volumes: [{ name: 'd', emptyDir: {} }],
        containers: [
          sh('c', WAIT, {
            volumeMounts,
            env: [{ name: 'WHO', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }],
          }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('sub', isReady);
    await harness.exec(found, 'c', 'echo x > /part/f; echo y > /named/f');
    expect(await harness.exec(found, 'c', 'cat /all/a/b/f /all/logs/sub-n1/f')).toBe('x\ny\n');
    const mounts = async () =>
      (await readFile('/proc/self/mounts', 'utf8'))
        .split('\n')
        .filter((line) => line.includes(`${harness.agent.root}/pods/${found.metadata?.uid}`)).length;
    const before = await mounts();
    const id = found.status?.containerStatuses?.[0]?.containerID?.split('//')[1] ?? '';
    await harness.cri.runtime.stopContainer({ containerId: id, timeout: 0n });
    const again = await harness.agent.waitFor('sub', restarts('c', 1));
    expect(await harness.exec(again, 'c', 'cat /part/f /named/f')).toBe('x\ny\n');
    expect(await mounts()).toBe(before);
  });

  test('subPath: a link put in place of a folder leads nowhere', async () => {
    const secretDir = `${harness.agent.folder}/host-secret`;
    await mkdir(secretDir);
    await writeFile(`${secretDir}/f`, 'of the host');
    await mkdir(`${harness.agent.folder}/vol`);
    await symlink(secretDir, `${harness.agent.folder}/vol/link`);
    await symlink('/proc/1/root', `${harness.agent.folder}/vol/far`);
    for (const subPath of ['link', 'link/f', 'far/etc']) {
      const name = `evil-${subPath.replace('/', '-')}`;
      await harness.agent.put(
        `${name}.json`,
        pod(name, {
          volumes: [{ name: 'd', hostPath: { path: `${harness.agent.folder}/vol` } }],
          containers: [sh('c', WAIT, { volumeMounts: [{ name: 'd', mountPath: '/m', subPath }] })],
        }),
      );
      const found = await harness.agent.waitFor(name, isWaiting('c', 'CreateContainerConfigError'));
      expect(statusOf(found, 'c')?.containerID).toBeUndefined();
    }
  });

  test('fsGroup: owns emptyDir and configMap files', async () => {
    await harness.agent.put('fs-cm.json', configMap('fs', { k: 'v' }));
    await harness.agent.put(
      'fsgroup.json',
      pod('fsgroup', {
        securityContext: { fsGroup: 3000, runAsUser: 1000 },
        volumes: [
          { name: 'd', emptyDir: {} },
          { name: 'cm', configMap: { name: 'fs', defaultMode: 0o400 } },
        ],
        containers: [
          sh('c', WAIT, {
            volumeMounts: [
              { name: 'd', mountPath: '/d' },
              { name: 'cm', mountPath: '/cm' },
            ],
          }),
        ],
      }),
    );
    const found = await harness.agent.waitFor('fsgroup', isReady);
    const text = await harness.exec(
      found,
      'c',
      'id -G; touch /d/f; stat -c %g /d/f; stat -L -c %g:%a /cm/k; cat /cm/k',
    );
    expect(text).toMatch(/\b3000\b.*\n3000\n3000:440\nv$/);
  });
});
