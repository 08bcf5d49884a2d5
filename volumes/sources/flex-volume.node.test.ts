import { chmod, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FlexVolumeSource, Pod } from '#api/gen/core-v1.ts';
import type { ExpansionReports } from '../contract/expansion.ts';
import { type FlexDrivers } from '../contract/flex.ts';
import type { VolumeManager } from '../contract/volume-manager.ts';
import { createExpander } from '../expansion/expander.ts';
import { createFlexDrivers, listFlexDrivers } from '../flex/drivers.ts';
import { createTestHost, type TestHost, testPod } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';
import { createRunProgram } from '../programs/run-program.ts';

const never = new AbortController().signal;
const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Discards expansion reports. */
const REPORTS: ExpansionReports = {
  begun: () => Promise.resolve(),
  finished: () => Promise.resolve(),
  readOnly: () => undefined,
  failed: () => undefined,
};

interface World extends TestHost {
  readonly manager: () => VolumeManager;
  /** Installs a driver in the plugin directory: branches of `case "$call"`. */
  readonly install: (name: string, branches: string) => Promise<void>;
  /** Calls so far with their arguments; paths of the test are shortened. */
  readonly calls: () => Promise<readonly string[]>;
  readonly plugins: string;
  readonly drivers: FlexDrivers;
}

async function createWorld(): Promise<World> {
  const t = await createTestHost();
  const plugins = join(t.base, 'exec');
  const log = join(t.base, 'calls');
  await writeFile(log, '');
  await mkdir(join(t.base, 'data'));
  await writeFile(join(t.base, 'data/f'), 'of the driver');
  const run = createRunProgram();
  const expander = createExpander({ reports: REPORTS, log: t.host.log });
  const flexDrivers = createFlexDrivers({ run, dir: plugins, nodeName: 'node-1' });
  return {
    ...t,
    plugins,
    drivers: flexDrivers,
    manager: () => createVolumeManager({ ...t.host, run, flexDrivers, expander }),
    async install(name, branches) {
      const dir = join(plugins, name.replace('/', '~'));
      const program = name.split('/').at(-1) ?? '';
      await mkdir(dir, { recursive: true });
      const script = `#!/bin/sh
call=$1; shift
printf '%s %s\\n' "$call" "$*" >> ${log}
ok() { echo '{"status":"Success"'"$1"'}'; exit 0; }
no() { echo '{"status":"Not supported"}'; exit 1; }
fail() { echo '{"status":"Failure","message":"'"$1"'"}'; exit 1; }
data=${t.base}/data
base=${t.base}
case "$call" in
${branches}
*) no;;
esac
`;
      // Installed atomically, as packages do: a half-written driver is never visible.
      await writeFile(join(dir, `.${program}`), script);
      await chmod(join(dir, `.${program}`), 0o755);
      await rename(join(dir, `.${program}`), join(dir, program));
    },
    async calls() {
      const text = (await readFile(log, 'utf8')).replaceAll(t.base, '~');
      return text.split('\n').filter((line) => line !== '');
    },
  };
}

const FILES = `
init) ok ',"capabilities":{"attach":false}';;
mount) mount --bind $data "$1" && ok; fail "no mount";;
unmount) umount "$1" && ok; fail "not mounted";;`;

const flex = (driver: string, more: Partial<FlexVolumeSource> = {}, pod: Partial<Pod['spec']> = {}): Pod =>
  testPod('uid-1', [{ name: 'v', flexVolume: { driver, ...more } }], pod);

describe('a driver that mounts for each pod', () => {
  test('gets pod, volume and secret, and undoes its mount', async () => {
    await using world = await createWorld();
    await world.install('acme/files', FILES);
    world.secrets.set('default/s', { type: 'acme/files', data: { key: base64('hush') } });
    const pod = flex(
      'acme/files',
      { fsType: 'ext4', options: { share: 'a' }, secretRef: { name: 's' } },
      { securityContext: { fsGroup: 4711 }, serviceAccountName: 'clerk' },
    );
    const manager = world.manager();
    const volume = (await manager.mountPod(pod, never)).get('v');
    const path = volume?.hostPath ?? '';
    expect(await readFile(join(path, 'f'), 'utf8')).toBe('of the driver');
    expect((await stat(path)).gid).toBe(4711);
    const [init, mount = ''] = await world.calls();
    expect(init?.trim()).toBe('init');
    const [, dir = '', json = ''] = /^mount (\S+) (.*)$/.exec(mount) ?? [];
    expect(dir).toBe(path.replace(world.base, '~'));
    expect(JSON.parse(json)).toEqual({
      [`${world.host.vocabulary.domain}/fsType`]: 'ext4',
      [`${world.host.vocabulary.domain}/readwrite`]: 'rw',
      [`${world.host.vocabulary.domain}/pvOrVolumeName`]: 'v',
      [`${world.host.vocabulary.domain}/pod.name`]: 'web',
      [`${world.host.vocabulary.domain}/pod.namespace`]: 'default',
      [`${world.host.vocabulary.domain}/pod.uid`]: 'uid-1',
      [`${world.host.vocabulary.domain}/serviceAccount.name`]: 'clerk',
      [`${world.host.vocabulary.domain}/fsGroup`]: '4711',
      [`${world.host.vocabulary.domain}/secret/key`]: base64('hush'),
      share: 'a',
    });
    // A restarted agent mounts nothing twice.
    await world.manager().mountPod(pod, never);
    expect((await world.mounts()).length).toBe(1);
    await world.manager().unmountPod('uid-1');
    expect((await world.calls()).at(-1)).toBe(`unmount ${dir}`);
    expect(await world.mounts()).toEqual([]);
    expect(await readdir(join(world.base, 'data'))).toEqual(['f']);
    expect(await readdir(join(world.rootDir, 'pods'))).toEqual([]);
  });

  test('is found when it is added at run time, and initialized again when it was replaced', async () => {
    await using world = await createWorld();
    const manager = world.manager();
    const path = join(world.plugins, 'acme~files/files');
    await expect(manager.mountPod(flex('acme/files'), never)).rejects.toThrow(
      `volume "v": flex driver acme/files is not installed on this node: ${path} does not exist`,
    );
    await world.install('acme/files', `init) fail "no licence";;`);
    manager.retryPod('uid-1');
    await expect(manager.mountPod(flex('acme/files'), never)).rejects.toThrow(
      'flex driver acme/files, init: no licence',
    );
    await world.install('acme/files', FILES);
    manager.retryPod('uid-1');
    await mkdir(join(world.plugins, '.hidden~x'));
    await mkdir(join(world.plugins, 'acme~broken'));
    expect(await listFlexDrivers(world.plugins)).toEqual([
      { name: 'acme/broken', runnable: false },
      { name: 'acme/files', runnable: true },
    ]);
    await manager.mountPod(flex('acme/files'), never);
    await manager.unmountPod('uid-1');
    expect(await world.mounts()).toEqual([]);
  });

  test('is reported when it is added, changed and removed', async () => {
    await using world = await createWorld();
    const { drivers } = world;
    const changed = (): Promise<void> =>
      new Promise((resolve) => {
        const end = drivers.onChange(() => {
          end();
          resolve();
        });
      });
    await expect(drivers.find('acme/files', never)).rejects.toThrow('does not exist');
    const came = changed();
    await world.install('acme/files', FILES);
    await came;
    const first = await drivers.find('acme/files', never);
    expect(await drivers.find('acme/files', never)).toBe(first);
    const other = changed();
    await world.install('acme/files', `${FILES}\nother) ok;;`);
    await other;
    expect(await drivers.find('acme/files', never)).not.toBe(first);
    const went = changed();
    await rm(join(world.plugins, 'acme~files'), { recursive: true });
    await went;
    await expect(drivers.find('acme/files', never)).rejects.toThrow('does not exist');
  });

  test('that fails is reported, without the secret that it prints', async () => {
    await using world = await createWorld();
    world.secrets.set('default/s', { type: 'acme/files', data: { key: base64('hush') } });
    await world.install(
      'acme/files',
      `init) ok ',"capabilities":{"attach":false}';;\nmount) fail "cannot use hush or ${base64('hush')}";;`,
    );
    const manager = world.manager();
    const pod = flex('acme/files', { secretRef: { name: 's' } });
    await expect(manager.mountPod(pod, never)).rejects.toThrow(
      /^volume "v": flex driver acme\/files, mount: cannot use … or …$/,
    );
    await manager.unmountPod('uid-1');
    expect(await readdir(join(world.rootDir, 'pods'))).toEqual([]);
  });

  test('does not get a secret of another type', async () => {
    await using world = await createWorld();
    await world.install('acme/files', FILES);
    world.secrets.set('default/s', { data: { key: base64('hush') } });
    await expect(
      world.manager().mountPod(flex('acme/files', { secretRef: { name: 's' } }), never),
    ).rejects.toThrow(`Secret default/s has type "Opaque", must be the driver's name "acme/files"`);
    expect((await world.calls()).join()).not.toContain(base64('hush'));
  });

  test('that is missing delays the teardown of its pod until it is back', async () => {
    await using world = await createWorld();
    await world.install('acme/files', FILES);
    const manager = world.manager();
    await manager.mountPod(flex('acme/files'), never);
    await rm(join(world.plugins, 'acme~files'), { recursive: true });
    await expect(manager.unmountPod('uid-1')).rejects.toThrow('flex driver acme/files is not installed');
    await world.install('acme/files', FILES);
    await manager.unmountPod('uid-1');
    expect(await world.mounts()).toEqual([]);
  });
});

const DISK = `
init) ok;;
getvolumename) ok ',"volumeName":"disk-7"';;
attach) touch $base/attached; ok ',"device":"/dev/seven"';;
isattached) if [ -e $base/attached ]; then ok ',"attached":true'; else ok ',"attached":false'; fi;;
waitforattach) ok ',"device":"'"$1"'-ready"';;
mountdevice) mount --bind $data "$1" && ok; fail "no mount";;
unmountdevice) umount "$1" && ok; fail "not mounted";;
detach) rm $base/attached && ok; fail "not attached";;`;

describe('a driver that attaches', () => {
  test('attaches and mounts once per node, and undoes it with the last pod', async () => {
    await using world = await createWorld();
    await world.install('acme/disk', DISK);
    const volumes = [{ name: 'v', flexVolume: { driver: 'acme/disk' } }];
    const manager = world.manager();
    const first = (await manager.mountPod(testPod('uid-1', volumes), never)).get('v');
    await manager.mountPod(testPod('uid-2', volumes), never);
    expect(await readFile(join(first?.hostPath ?? '', 'f'), 'utf8')).toBe('of the driver');
    const before = await world.calls();
    const words = (lines: readonly string[]): readonly string[] =>
      lines.map((line) => line.split(' ')[0] ?? '').filter((call) => call !== 'getvolumename');
    // The second pod finds it attached; the driver is called for pod mounts only once, since it does not
    // support them.
    expect(words(before)).toEqual(['init', 'attach', 'waitforattach', 'mountdevice', 'mount', 'isattached']);
    const json = `{"${world.host.vocabulary.domain}/fsType":"","${world.host.vocabulary.domain}/pvOrVolumeName":"v","${world.host.vocabulary.domain}/readwrite":"rw"}`;
    expect(before.find((line) => line.startsWith('attach '))).toBe(`attach ${json} node-1`);
    expect(before.find((line) => line.startsWith('waitforattach '))).toBe(`waitforattach /dev/seven ${json}`);
    expect(before.find((line) => line.startsWith('mountdevice '))).toMatch(
      /^mountdevice ~\/root\/plugins\/\S+\/globalmount \/dev\/seven-ready \{/,
    );
    await manager.unmountPod('uid-1');
    expect(await readdir(world.base)).toContain('attached');
    // Another process knows only what is on disk.
    await world.manager().unmountPod('uid-2');
    expect(await world.mounts()).toEqual([]);
    expect((await world.calls()).slice(-3).map((line) => line.split(' ')[0])).toEqual([
      'unmountdevice',
      'isattached',
      'detach',
    ]);
    expect((await world.calls()).at(-1)).toBe('detach disk-7 node-1');
    expect(await readdir(world.base)).not.toContain('attached');
  });

  test('expands a volume of a claim, and its file system', async () => {
    await using world = await createWorld();
    await world.install('acme/disk', `${DISK}\nexpandvolume) ok;;\nexpandfs) ok;;`);
    world.claims.set('default/c', {
      metadata: { name: 'c', namespace: 'default', uid: 'c1' },
      spec: { volumeName: 'pv' },
      status: { capacity: { storage: '1Gi' } },
    });
    world.persistentVolumes.set('pv', {
      metadata: { name: 'pv' },
      spec: { capacity: { storage: '2Gi' }, flexVolume: { driver: 'acme/disk', options: { id: '7' } } },
    });
    const manager = world.manager();
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'c' } }];
    await manager.mountPod(testPod('uid-1', volumes), never);
    const calls = await world.calls();
    const { domain } = world.host.vocabulary;
    const json = `{"id":"7","${domain}/fsType":"","${domain}/pvOrVolumeName":"pv","${domain}/readwrite":"rw"}`;
    const sizes = '2147483648 1073741824';
    const target = /^mountdevice (\S+)/m.exec(calls.join('\n'))?.[1];
    expect(calls.slice(-2)).toEqual([
      `expandvolume ${json} ${target} ${sizes}`,
      `expandfs ${json} /dev/seven-ready ${target} ${sizes}`,
    ]);
    await manager.unmountPod('uid-1');
    expect(await world.mounts()).toEqual([]);
  });

  test('that failed to attach has nothing to detach', async () => {
    await using world = await createWorld();
    await world.install('acme/disk', `init) ok;;\nattach) fail "no such disk";;\nisattached) ok;;`);
    const manager = world.manager();
    await expect(manager.mountPod(flex('acme/disk'), never)).rejects.toThrow('attach: no such disk');
    await manager.unmountPod('uid-1');
    expect((await world.calls()).some((line) => line.startsWith('detach'))).toBe(false);
    expect(await world.mounts()).toEqual([]);
  });

  test('without any mount call is rejected', async () => {
    await using world = await createWorld();
    await world.install('acme/disk', 'init) ok;;');
    const manager = world.manager();
    await expect(manager.mountPod(flex('acme/disk'), never)).rejects.toThrow(
      'flex driver acme/disk supports neither mount nor mountdevice',
    );
    await manager.unmountPod('uid-1');
  });
});
