/** Bind mounts of subPaths to the agent's own mount points, for the runtime. The container may swap any
 *  directory for a link at any moment: the kernel resolves the path beneath the volume's root, the result
 *  is held, and the held object is bound, not its path. Source: openat2(2). */
import { constants } from 'node:fs';
import { chmod, mkdir, open, rmdir, stat, unlink } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode, unlessCode } from '#api/kit/errno.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { at, type Held, heldPath, holdAt, holdPath, statHeld } from '../files/held-dir.ts';
import { CREATE_NEW } from '../files/ownership.ts';
import { O_PATH, RESOLVE_BENEATH, RESOLVE_NO_MAGICLINKS, type Syscalls } from '../files/syscalls.ts';
import type { Mounter } from './mounter.ts';

export interface SubPathBind {
  /** The volume's root on the host; a directory. */
  readonly volumePath: string;
  readonly subPath: string;
  /** Nothing is created in a volume that the pod cannot write. */
  readonly readOnly: boolean;
  /** Mount point; on a path that only root can change. */
  readonly target: string;
}

const MAX_PATH_BYTES = 4096;
/** The kernel aborts a resolution with EAGAIN when a rename happens concurrently. */
const MAX_TRIES = 256;
/** Including the set-id bits and the sticky bit. */
const PERMISSIONS = 0o7777;
const SETGID = 0o2000;

/** Returns the names of a subPath, without empty and `.` elements. Pure.
 *  @throws VolumeSetupError for an absolute path and for `..` */
export function parseSubPath(subPath: string): readonly string[] {
  const refuse = (why: string): VolumeSetupError =>
    new VolumeSetupError(`subPath ${JSON.stringify(subPath.slice(0, 100))} ${why}`);
  if (subPath.startsWith('/')) throw refuse('must be relative');
  if (subPath.includes('\0')) throw refuse('contains a NUL');
  if (Buffer.byteLength(subPath) >= MAX_PATH_BYTES) throw refuse('is too long');
  const names = subPath.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw refuse('must not contain ".."');
  return names;
}

async function openBeneath(
  syscalls: Syscalls,
  root: Held,
  names: readonly string[],
  flags = 0,
): Promise<Held> {
  const path = names.length === 0 ? '.' : names.join('/');
  for (let tries = 1; ; tries += 1) {
    try {
      return await holdAt(syscalls, root, path, {
        flags: O_PATH | flags,
        resolve: RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS,
      });
    } catch (thrown) {
      if (errorCode(thrown) !== 'EAGAIN' || tries >= MAX_TRIES) throw thrown;
    }
  }
}

async function makeDirectory(parent: Held, name: string, permissions: number): Promise<void> {
  if (!(await unlessCode(['EEXIST'], () => mkdir(at(parent, name), 0o700)))) return;
  await using created = await open(at(parent, name), O_PATH | constants.O_NOFOLLOW | constants.O_DIRECTORY);
  // The group is inherited from a set-gid parent, and the bit must be too; the umask must not apply.
  await chmod(heldPath(created), ((await statHeld(created)).mode & SETGID) | permissions);
}

async function makeMissing(syscalls: Syscalls, root: Held, names: readonly string[]): Promise<void> {
  const permissions = (await statHeld(root)).mode & PERMISSIONS;
  for (let depth = 1; depth <= names.length; depth += 1) {
    const name = names[depth - 1] ?? '';
    await using parent = await openBeneath(syscalls, root, names.slice(0, depth - 1), constants.O_DIRECTORY);
    const found = await unlessCode(['ENOENT'], async () => {
      await using existing = await openBeneath(syscalls, root, names.slice(0, depth));
      return existing.fd;
    });
    if (!found) await makeDirectory(parent, name, permissions);
  }
}

async function openSubPath(syscalls: Syscalls, root: Held, bind: SubPathBind): Promise<Held> {
  const names = parseSubPath(bind.subPath);
  try {
    return await openBeneath(syscalls, root, names);
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
  }
  if (bind.readOnly) {
    throw new VolumeSetupError(
      `subPath ${JSON.stringify(bind.subPath)} does not exist in the read-only volume`,
    );
  }
  await makeMissing(syscalls, root, names);
  return openBeneath(syscalls, root, names);
}

function explain(thrown: unknown, subPath: string): unknown {
  const why: Readonly<Record<string, string>> = {
    EXDEV: 'leads out of the volume',
    ELOOP: 'contains a link that is not followed',
    ENOTDIR: 'goes through something that is not a directory',
    EAGAIN: 'kept changing during lookup',
  };
  const text = why[errorCode(thrown) ?? ''];
  if (text === undefined) return thrown;
  return new VolumeSetupError(`subPath ${JSON.stringify(subPath)} ${text}`, { cause: thrown });
}

async function isSame(target: string, source: Held): Promise<boolean> {
  try {
    const found = await stat(target);
    const wanted = await statHeld(source);
    return found.dev === wanted.dev && found.ino === wanted.ino;
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}

/** Unmounts everything at `target`, and removes the mount point. */
export async function unbind(mounter: Mounter, target: string): Promise<void> {
  for (;;) {
    try {
      await using held = await holdPath(target);
      await mounter.detach(held);
    } catch (thrown) {
      const code = errorCode(thrown);
      if (code === 'ENOENT') return;
      // The kernel's error for a path that is not the root of a mount.
      if (code === 'EINVAL') break;
      throw thrown;
    }
  }
  if (await unlessCode(['EISDIR'], () => unlink(target))) return;
  await rmdir(target);
}

async function makeTarget(target: string, source: Held): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  if ((await statHeld(source)).isDirectory()) {
    await mkdir(target, 0o750);
    return;
  }
  await using file = await open(target, CREATE_NEW, 0o640);
  await file.sync();
}

/** Binds the subPath and returns after verifying that the mounted object is the one found in the volume.
 *  @throws VolumeSetupError with a message for the pod's author; SyscallError */
export async function bindSubPath(mounter: Mounter, bind: SubPathBind): Promise<void> {
  try {
    await using root = await open(bind.volumePath, O_PATH | constants.O_DIRECTORY);
    await using source = await openSubPath(mounter.syscalls, root, bind);
    if ((await statHeld(source)).isSymbolicLink()) throw new VolumeSetupError('found a link');
    if (await isSame(bind.target, source)) return;
    await unbind(mounter, bind.target);
    await makeTarget(bind.target, source);
    await mounter.bind(source, bind.target);
    if (await isSame(bind.target, source)) return;
    await unbind(mounter, bind.target);
    throw new VolumeSetupError(`subPath ${JSON.stringify(bind.subPath)} was mounted as something else`);
  } catch (thrown) {
    throw explain(thrown, bind.subPath);
  }
}
