/** A stage for tests of volumes that are attached: disks that are files of the test behind loop devices. */
import { mkdir, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, vi } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import type { PersistentVolumeSpec } from '#api/schema/gen/core-v1.ts';
import type { DevicePaths, DevicePlugin } from '../devices/contract.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { attachLoop, detachLoop, findLoops } from '../devices/loop.ts';
import { createVolumeManager, type ManagerParts } from '../manager.ts';
import { createMounter, type Mounter } from '../mounter.ts';
import { createRunProgram } from '../programs/run-program.ts';
import { emptyDir } from '../sources/empty-dir.ts';
import { createPersistentVolumeClaim } from '../sources/persistent-volume-claim.ts';
import { createSourceTable, type SourceTable } from '../sources/table.ts';
import { detachBeneath } from '../teardown.ts';
import { createTestHost, type TestHost } from '../test-host.ts';
import type { VolumeHost, VolumeManager } from '../types.ts';

const PATHS: DevicePaths = { dev: '/dev', sys: '/sys' };
const MIB = 1024 * 1024;

/** Attaches the file that the disk's ID names. */
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
  /** A disk of zeros behind a PersistentVolume and a claim of its name. */
  disk(name: string, spec?: Partial<PersistentVolumeSpec>): Promise<void>;
  manager(mounter?: Mounter, parts?: ManagerParts, host?: Partial<VolumeHost>): VolumeManager;
  /** Loop devices that the disk has. */
  loops(name: string): Promise<readonly string[]>;
  /** Waits until the disk has none: a program that looks at all devices keeps each for a moment. */
  detached(name: string): Promise<void>;
  /** Folders of volumes that are staged. */
  staged(): Promise<readonly string[]>;
  /** Mount points beneath the root directory, relative to it. */
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
    // What others of this machine have for a moment is tried again after real time.
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
