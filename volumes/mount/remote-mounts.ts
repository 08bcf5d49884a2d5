/** Mounts whose server may be unreachable. Access blocks in the kernel, perhaps indefinitely; only
 *  abortable programs access them here, never threads of the agent. */

import { VolumeSetupError } from '../errors/setup-error.ts';
import type { RunProgram } from '../programs/contract.ts';
import { failText, ProgramTimeoutError } from '../programs/errors.ts';
import type { Mounter } from './mounter.ts';
import type { MountInfo } from './mountinfo.ts';

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

/** Reports whether access to the mount may wait for a server or another process. Pure. */
export const isRemote = ({ fsType }: Pick<MountInfo, 'fsType'>): boolean =>
  REMOTE.has(fsType) || fsType.startsWith('fuse.');

/** Returns remote mounts that can be addressed by path: none is inside another one, so no container
 *  controls the path. Pure. */
export function remoteByPath(mounts: readonly MountInfo[]): readonly MountInfo[] {
  const carries = (outer: MountInfo, inner: MountInfo): boolean =>
    inner.mountPoint.startsWith(`${outer.mountPoint}/`);
  return mounts.filter((mount) => isRemote(mount) && !mounts.some((other) => carries(other, mount)));
}

/** Mount table and program runner. */
export interface RemoteServices {
  readonly mounter: Pick<Mounter, 'list'>;
  readonly run: RunProgram;
}

/** Detaches a mount, even if its server does not respond. A missing response is not an error if the mount
 *  is gone. @throws VolumeSetupError when it stays */
export async function detachRemote(
  { mounter, run }: RemoteServices,
  mountPoint: string,
  signal: AbortSignal,
): Promise<void> {
  // Neither a helper, which would contact the server, nor access to the path.
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

/** Returns the mount that contains the path, by names alone. Pure. */
export function mountOf(mounts: readonly MountInfo[], path: string): MountInfo | undefined {
  let found: MountInfo | undefined;
  for (const mount of mounts) {
    const prefix = mount.mountPoint === '/' ? '/' : `${mount.mountPoint}/`;
    const holds = path === mount.mountPoint || path.startsWith(prefix);
    if (holds && mount.mountPoint.length >= (found?.mountPoint.length ?? 0)) found = mount;
  }
  return found;
}

/** Checks that a volume is accessible, if it depends on a server.
 *  @returns the mount of the server
 *  @throws VolumeSetupError when the server does not respond */
export async function checkResponds(
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
    throw new VolumeSetupError(`${mount.source} (${mount.fsType}) does not respond`, { cause });
  }
}
