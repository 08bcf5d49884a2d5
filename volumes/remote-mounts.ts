/** Mounts whose server may be gone. Whoever looks at one then waits in the kernel, perhaps for ever: only programs do
 *  that here, which are given up, so that threads of the agent never wait for a server. */
import type { Mounter } from './mounter.ts';
import type { MountInfo } from './mountinfo.ts';
import type { RunProgram } from './programs/contract.ts';
import { failText, ProgramTimeoutError } from './programs/errors.ts';
import { VolumeSetupError } from './setup-error.ts';

const REMOTE: ReadonlySet<string> = new Set([
  '9p',
  'afs',
  'beegfs',
  'ceph',
  'cifs',
  'fuse',
  'lustre',
  'nfs',
  'nfs4',
  'smb3',
]);

const DETACH_MS = 20_000;
const ANSWER_MS = 10_000;

/** Whether looking into the mount may wait for somebody else. Pure. */
export const isRemote = ({ fsType }: Pick<MountInfo, 'fsType'>): boolean =>
  REMOTE.has(fsType) || fsType.startsWith('fuse.');

/** Remote mounts that can be named by their paths: no other of these mounts carries them, so no container steers the
 *  way there. Pure. */
export function remoteByPath(mounts: readonly MountInfo[]): readonly MountInfo[] {
  const carries = (outer: MountInfo, inner: MountInfo): boolean =>
    inner.mountPoint.startsWith(`${outer.mountPoint}/`);
  return mounts.filter((mount) => isRemote(mount) && !mounts.some((other) => carries(other, mount)));
}

/** The mount table, and the way to run programs. */
export interface RemoteServices {
  readonly mounter: Pick<Mounter, 'list'>;
  readonly run: RunProgram;
}

/** Takes a mount out of the tree, whether or not its server answers; it is no failure that the server is not heard of
 *  as long as the mount is gone. @throws VolumeSetupError when it stays */
export async function detachRemote(
  { mounter, run }: RemoteServices,
  mountPoint: string,
  signal: AbortSignal,
): Promise<void> {
  // No helper, which would ask the server, and no look at the path.
  const args = ['-l', '-i', '-n', '-c', mountPoint];
  try {
    const result = await run('umount', args, { signal, timeoutMs: DETACH_MS });
    if (result.code !== 0) throw new VolumeSetupError(failText('umount', result));
  } catch (thrown) {
    signal.throwIfAborted();
    const left = (await mounter.list()).some((mount) => mount.mountPoint === mountPoint);
    if (left) throw thrown;
  }
}

/** The mount that has the path in it, by names alone. Pure. */
export function mountOf(mounts: readonly MountInfo[], path: string): MountInfo | undefined {
  let found: MountInfo | undefined;
  for (const mount of mounts) {
    const prefix = mount.mountPoint === '/' ? '/' : `${mount.mountPoint}/`;
    const holds = path === mount.mountPoint || path.startsWith(prefix);
    if (holds && mount.mountPoint.length >= (found?.mountPoint.length ?? 0)) found = mount;
  }
  return found;
}

/** Makes sure that a volume can be looked at, if that depends on a server.
 *  @returns the mount of the server
 *  @throws VolumeSetupError when the server doesn't answer */
export async function checkAnswers(
  { mounter, run }: RemoteServices,
  path: string,
  signal: AbortSignal,
): Promise<MountInfo | undefined> {
  const mount = mountOf(await mounter.list(), path);
  if (mount === undefined || !isRemote(mount)) return undefined;
  try {
    await run('stat', ['--file-system', '--', path], { signal, timeoutMs: ANSWER_MS });
    return mount;
  } catch (cause) {
    if (!(cause instanceof ProgramTimeoutError)) throw cause;
    throw new VolumeSetupError(`${mount.source} (${mount.fsType}) does not answer`, { cause });
  }
}
