/** Test environment for attached volumes: disks that are files behind loop devices. */
import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import type { PersistentVolumeSpec } from '#api/gen/core-v1.ts';
import { systemClock } from '#api/kit/clock.ts';
import type { DevicePaths } from '../contract/device-paths.ts';
import type { DevicePlugin } from '../contract/devices.ts';
import type { VolumeHost, VolumeManager } from '../contract/volume-manager.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { attachLoop, detachLoop, findLoops } from '../devices/loop.ts';
import { createTestHost, type TestHost } from '../manage/host.fixture.ts';
import { createVolumeManager, type ManagerParts } from '../manage/manager.ts';
import { createMounter, type Mounter } from '../mount/mounter.ts';
import { detachBeneath } from '../mount/teardown.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { emptyDir } from '../sources/empty-dir.ts';
import { createPersistentVolumeClaim } from '../sources/persistent-volume-claim.ts';
import { createSourceTable, type SourceTable } from '../sources/table.ts';

const PATHS: DevicePaths = { dev: '/dev', sys: '/sys' };
const MIB = 1024 * 1024;

/** Attaches the file named by the disk's ID. */
function diskPlugin(folder: string): DevicePlugin<'photonPersistentDisk'> {
  return {
    name: 'photonPersistentDisk',
    about: { summary: 'A file of the test behind a loop device.', use: 'both' },
    dirName: 'test-disk',
    identify: ({ pdID, fsType = '' }, domain) => ({
      uniqueName: `${domain}/test-disk/${pdID}`,
      fsType,
      readOnly: false,
    }),
    async attach({ pdID }, { run, paths }, save, signal) {
      const file = join(folder, pdID);
      await save({ file });
      return attachLoop({ run, paths }, file, {}, signal);
    },
    async detach({ file = '' }, { run, paths }, signal) {
      for (const device of await findLoops(paths, file)) await detachLoop({ run }, device, signal);
    },
  };
}

export interface TestStage extends AsyncDisposable {
  readonly t: TestHost;
  readonly sources: SourceTable;
  /** Creates an empty disk with a PersistentVolume and a claim of its name. */
  disk(name: string, spec?: Partial<PersistentVolumeSpec>): Promise<void>;
  manager(mounter?: Mounter, parts?: ManagerParts, host?: Partial<VolumeHost>): VolumeManager;
  /** Returns the loop devices of the disk. */
  loops(name: string): Promise<readonly string[]>;
  /** Waits until the disk has no loop device: programs that scan all devices hold each for a moment. */
  detached(name: string): Promise<void>;
  /** Returns the directories of staged volumes. */
  staged(): Promise<readonly string[]>;
  /** Returns mount points beneath the root directory, relative to it. */
  mountPoints(): Promise<readonly string[]>;
}

export async function createTestStage(): Promise<TestStage> {
  const t = await createTestHost();
  const folder = join(t.base, 'disks');
  await mkdir(folder);
  const disk = defineDeviceSource(diskPlugin(folder));
  const persistent = [disk];
  const sources = createSourceTable([disk, emptyDir, createPersistentVolumeClaim(persistent)], persistent);
  const loops = (name: string): Promise<readonly string[]> => findLoops(PATHS, join(folder, name));
  const names: string[] = [];
  return {
    t,
    sources,
    loops,
    detached: (name) => vi.waitFor(async () => expect(await loops(name)).toEqual([]), { timeout: 10_000 }),
    async disk(name, spec = {}) {
      await using file = await open(join(folder, name), 'wx');
      await file.truncate(16 * MIB);
      names.push(name);
      t.claims.set(`default/${name}`, { metadata: { name }, spec: { volumeName: name } });
      const source = { photonPersistentDisk: { pdID: name } };
      t.persistentVolumes.set(name, { metadata: { name }, spec: { ...source, ...spec } });
    },
    // Operations blocked by other processes are retried after real time.
    manager: (mounter, parts = {}, host = {}) =>
      createVolumeManager({ ...t.host, clock: systemClock, ...host }, mounter, { sources, ...parts }),
    async staged() {
      const plugins = join(t.rootDir, 'plugins', `${t.host.vocabulary.domain}~photonPersistentDisk`);
      return readdir(plugins).catch(() => []);
    },
    mountPoints: async () =>
      (await t.mounts()).map(({ mountPoint }) => mountPoint.slice(t.rootDir.length + 1)),
    async [Symbol.asyncDispose]() {
      await detachBeneath(createMounter(), t.rootDir);
      const { signal } = new AbortController();
      const run = createRunProgram();
      for (const name of names)
        for (const device of await loops(name)) await detachLoop({ run }, device, signal);
      await t[Symbol.asyncDispose]();
    },
  };
}
