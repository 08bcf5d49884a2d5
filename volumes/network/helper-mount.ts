/** Mounts through the helper program of a file system: `mount.<type> SOURCE DIRECTORY -o OPTIONS`, as
 *  mount(8) runs it. A failed attempt leaves no mount; one that hangs is aborted. */
import { mkdir, readFile, rmdir } from 'node:fs/promises';
import { asError, errorCode, unlessCode } from '#api/kit/errno.ts';
import type { SourcePlugin, SourceRequest, SourceServices } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import type { ProgramResult } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { mountAt } from './mount-state.ts';
import { unmountFromServer } from './unmount-from-server.ts';

export interface HelperMount {
  /** As in `mount.<type>`. */
  readonly type: string;
  /** The mounted source in the helper's form; shown in messages. */
  readonly source: string;
  readonly options: readonly string[];
  /** Name of the file system in `/proc/filesystems`. */
  readonly fileSystem: string;
}

/** Failure of a helper program. */
export class MountHelperError extends VolumeSetupError {
  constructor(message: string) {
    super(message);
    this.name = 'MountHelperError';
  }
}

export interface MountProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** The mounted source, for messages. */
  readonly source: string;
  readonly fileSystem: string;
}

type MountServices = Pick<SourceServices, 'mounter' | 'run'>;

/** File systems known to the kernel. */
export const KERNEL_LIST = '/proc/filesystems';
/** Helpers retry for about two minutes themselves, and report the best error. */
const MOUNT_TIMEOUT_MS = 140_000;

/** Mounts at `dir` unless something is mounted there.
 *  @param mount performs the mount; the directory exists then
 *  @throws the error of `mount`, and VolumeSetupError when nothing is mounted afterwards */
export async function ensureMounted(
  services: MountServices,
  dir: string,
  mount: () => Promise<void>,
): Promise<void> {
  const { mounter } = services;
  if ((await mountAt(mounter, dir)) !== undefined) return;
  await mkdir(dir, { recursive: true, mode: 0o750 });
  try {
    await mount();
    if ((await mountAt(mounter, dir)) === undefined) {
      throw new VolumeSetupError('the program succeeded, but nothing is mounted');
    }
  } catch (thrown) {
    await cleanUp(services, dir, thrown);
    throw thrown;
  }
}

/** Removes the leftovers of a failed attempt; only the attempt's own error is reported. */
async function cleanUp(services: MountServices, dir: string, thrown: unknown): Promise<void> {
  try {
    await unmountFromServer(services, dir);
    await unlessCode(['ENOENT', 'ENOTEMPTY', 'EBUSY'], () => rmdir(dir));
  } catch (failure) {
    const message = `${asError(thrown).message}; ${asError(failure).message}`;
    throw new AggregateError([thrown, failure], message, { cause: failure });
  }
}

/** Runs the helper once. @throws VolumeSetupError with the end of the helper's output, or the missing
 *  requirement */
export async function runMountHelper(
  { run }: Pick<SourceServices, 'run'>,
  { type, source, options, fileSystem }: HelperMount,
  dir: string,
  signal: AbortSignal,
): Promise<void> {
  const args = [source, dir, ...(options.length === 0 ? [] : ['-o', options.join(',')])];
  await runMountProgram({ run }, { program: `mount.${type}`, args, source, fileSystem }, signal);
}

/** Like `runMountHelper`, for a program with other arguments. @throws as `runMountHelper` */
export async function runMountProgram(
  { run }: Pick<SourceServices, 'run'>,
  { program, args, ...what }: MountProgram,
  signal: AbortSignal,
): Promise<void> {
  const result = await run(program, args, { signal, timeoutMs: MOUNT_TIMEOUT_MS });
  if (result.code !== 0) throw await mountFailure({ program, ...what }, result);
}

/** Returns the reason of a failed mount, for the pod's author. */
async function mountFailure(
  { program, source, fileSystem }: Omit<MountProgram, 'args'>,
  result: ProgramResult,
): Promise<MountHelperError> {
  const message = `failed to mount ${source}: ${failText(program, result)}`;
  // The kernel has tried to load the module by now.
  const known = await knowsFileSystem(fileSystem);
  return new MountHelperError(
    known ? message : `${message}; the kernel of this node does not know the file system ${fileSystem}`,
  );
}

/** Reports whether the kernel lists the file system; true if the list cannot be read. */
export async function knowsFileSystem(name: string, list: string = KERNEL_LIST): Promise<boolean> {
  try {
    const lines = (await readFile(list, 'utf8')).split('\n');
    return lines.some((line) => line.split('\t').at(-1)?.trim() === name);
  } catch (thrown) {
    if (errorCode(thrown) === undefined) throw thrown;
    return true;
  }
}

/** Mounts directly into the pod's own directory.
 *  @param mount called only when nothing is mounted yet; the directory exists then
 *  @returns the directory */
export async function mountForPod(
  request: SourceRequest,
  dirName: string,
  mount: (dir: string) => Promise<void>,
): Promise<string> {
  const dir = request.dir(dirName);
  await request.remember({});
  await ensureMounted(request.services, dir, () => mount(dir));
  return dir;
}

/** Teardown of such mounts: an unreachable server must not delay the rest of the pod. */
export const UNMOUNT_WITHOUT_SERVER: Pick<SourcePlugin, 'tearDown'> = {
  tearDown: async (_record, dir, services) => unmountFromServer(services, dir),
};
