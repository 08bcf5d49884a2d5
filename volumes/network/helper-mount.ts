/** Mounts by the helper program of a file system: `mount.<type> SOURCE DIRECTORY -o OPTIONS`, as mount(8) runs it.
 *  A failed attempt leaves no mount; one that hangs is given up. */
import { mkdir, readFile, rmdir } from 'node:fs/promises';
import { asError } from '#api/kit/clock.ts';
import type { ProgramResult } from '../programs/contract.ts';
import { failText } from '../programs/errors.ts';
import { errorCode, unlessCode, VolumeSetupError } from '../setup-error.ts';
import type { SourcePlugin, SourceRequest, SourceServices } from '../sources/source.ts';
import { leaveServer } from './leave-server.ts';
import { mountAt } from './mount-state.ts';

export interface HelperMount {
  /** As in `mount.<type>`. */
  readonly type: string;
  /** What is mounted, in the helper's own form; shown to people. */
  readonly source: string;
  readonly options: readonly string[];
  /** The file system's name in `/proc/filesystems`. */
  readonly fileSystem: string;
}

/** A helper program that ran and did not mount. */
export class MountHelperError extends VolumeSetupError {
  constructor(message: string) {
    super(message);
    this.name = 'MountHelperError';
  }
}

export interface MountProgram {
  readonly program: string;
  readonly args: readonly string[];
  /** What is mounted, for people. */
  readonly source: string;
  readonly fileSystem: string;
}

type MountServices = Pick<SourceServices, 'mounter' | 'run'>;

/** The file systems that the kernel knows. */
export const KERNEL_LIST = '/proc/filesystems';
/** Helpers try for about two minutes themselves and know best why they failed. */
const MOUNT_TIMEOUT_MS = 140_000;

/** Runs what mounts something at `dir`, unless something is mounted there.
 *  @param mount does it; the directory exists then
 *  @throws what `mount` throws, and VolumeSetupError when nothing is mounted afterwards */
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
      throw new VolumeSetupError('the program ended well, but nothing is mounted');
    }
  } catch (thrown) {
    await cleanUp(services, dir, thrown);
    throw thrown;
  }
}

/** What is left of a failed attempt; the attempt's own failure is what counts. */
async function cleanUp(services: MountServices, dir: string, thrown: unknown): Promise<void> {
  try {
    await leaveServer(services, dir);
    await unlessCode(['ENOENT', 'ENOTEMPTY', 'EBUSY'], () => rmdir(dir));
  } catch (failure) {
    const message = `${asError(thrown).message}; ${asError(failure).message}`;
    throw new AggregateError([thrown, failure], message, { cause: failure });
  }
}

/** Runs the helper once. @throws VolumeSetupError with the helper's last words, or what the node lacks */
export async function runMountHelper(
  { run }: Pick<SourceServices, 'run'>,
  { type, source, options, fileSystem }: HelperMount,
  dir: string,
  signal: AbortSignal,
): Promise<void> {
  const args = [source, dir, ...(options.length === 0 ? [] : ['-o', options.join(',')])];
  await runMountProgram({ run }, { program: `mount.${type}`, args, source, fileSystem }, signal);
}

/** The same for a program that wants other arguments. @throws as `runMountHelper` */
export async function runMountProgram(
  { run }: Pick<SourceServices, 'run'>,
  { program, args, ...what }: MountProgram,
  signal: AbortSignal,
): Promise<void> {
  const result = await run(program, args, { signal, timeoutMs: MOUNT_TIMEOUT_MS });
  if (result.code !== 0) throw await mountFailure({ program, ...what }, result);
}

/** Why a mount failed, in words for the pod's author. */
async function mountFailure(
  { program, source, fileSystem }: Omit<MountProgram, 'args'>,
  result: ProgramResult,
): Promise<MountHelperError> {
  const words = `${source} could not be mounted: ${failText(program, result)}`;
  // The kernel has tried to load the module by now.
  const known = await knowsFileSystem(fileSystem);
  return new MountHelperError(
    known ? words : `${words}; the kernel of this node does not know the file system ${fileSystem}`,
  );
}

/** Whether the kernel lists the file system; true where the list can't be read. */
export async function knowsFileSystem(name: string, list: string = KERNEL_LIST): Promise<boolean> {
  try {
    const lines = (await readFile(list, 'utf8')).split('\n');
    return lines.some((line) => line.split('\t').at(-1)?.trim() === name);
  } catch (thrown) {
    if (errorCode(thrown) === undefined) throw thrown;
    return true;
  }
}

/** Mounts straight into the pod's own folder.
 *  @param mount asked only when nothing is mounted yet; the directory exists then
 *  @returns the folder */
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

/** The way down of such mounts: one whose server is gone must not hold up the rest of the pod. */
export const UNMOUNT_WITHOUT_SERVER: Pick<SourcePlugin, 'tearDown'> = {
  tearDown: async (_record, dir, services) => leaveServer(services, dir),
};
