/** Disks for tests: sparse files behind loop devices, with a mount directory. */
import { mkdir, mkdtemp, open, rm, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import type { DevicePaths } from '../contract/device-paths.ts';
import { createMounter, type Mounter } from '../mount/mounter.ts';
import { detachBeneath } from '../mount/teardown.ts';
import type { ProgramResult } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { createRunProgram } from '../programs/run-program.ts';
import type { FormatAndMountDeps } from './format-and-mount.ts';
import { attachLoop, detachLoop } from './loop.ts';
import { untilUnused } from './until-unused.fixture.ts';

const MIB = 1024 * 1024;

export interface TestDisk extends AsyncDisposable {
  /** `/dev/loop7` */
  readonly device: string;
  /** The backing file. */
  readonly file: string;
  /** Expands the disk, as a cloud would. */
  grow(sizeMib: number): Promise<void>;
  /** Detaches the device; the file stays. */
  detach(): Promise<void>;
}

export interface TestDisks extends AsyncDisposable {
  readonly base: string;
  readonly deps: FormatAndMountDeps & { readonly paths: DevicePaths; readonly mounter: Mounter };
  /** A disk full of zeros. */
  disk(sizeMib: number, options?: { readonly partitions?: boolean }): Promise<TestDisk>;
  /** Creates a directory. */
  folder(name: string): Promise<string>;
  /** Unmounts a file system, and waits until its device is unused. */
  unmount(target: string): Promise<void>;
  /** Runs a program. @throws Error unless it succeeds */
  run(program: string, args: readonly string[], input?: string): Promise<ProgramResult>;
}

export async function createTestDisks(): Promise<TestDisks> {
  const base = await mkdtemp('/tmp/na-disk-');
  const { signal } = new AbortController();
  const paths: DevicePaths = { dev: '/dev', sys: '/sys' };
  const deps = { run: createRunProgram(), mounter: createMounter(), paths };
  const loops = new Set<string>();
  let count = 0;

  async function run(program: string, args: readonly string[], input = ''): Promise<ProgramResult> {
    const result = await deps.run(program, args, { signal, timeoutMs: 60_000, input });
    if (result.code !== 0) throw new Error(failText(program, result));
    return result;
  }

  async function unmount(target: string): Promise<void> {
    const mounted = (await deps.mounter.list()).findLast(({ mountPoint }) => mountPoint === target);
    await deps.mounter.syscalls.unmount(target, 0);
    if (mounted !== undefined) await untilUnused(mounted.source);
  }

  async function detach(device: string): Promise<void> {
    if (loops.delete(device)) await detachLoop(deps, device, signal);
  }

  return {
    base,
    deps,
    run,
    unmount,
    async folder(name) {
      const path = join(base, name);
      await mkdir(path);
      return path;
    },
    async disk(sizeMib, options = {}) {
      const file = join(base, `disk-${(count += 1)}`);
      await using handle = await open(file, 'wx');
      await handle.truncate(sizeMib * MIB);
      const device = await attachLoop(deps, file, options, signal);
      loops.add(device);
      return {
        device,
        file,
        async grow(to) {
          await truncate(file, to * MIB);
          await run('losetup', ['--set-capacity', device]);
        },
        detach: () => detach(device),
        [Symbol.asyncDispose]: () => detach(device),
      };
    },
    async [Symbol.asyncDispose]() {
      await detachBeneath(deps.mounter, base);
      for (const device of loops) await detach(device);
      await rm(base, { recursive: true });
    },
  };
}
