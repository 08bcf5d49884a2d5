/** cephfs: a directory of a Ceph file system, mounted into the pod's own directory by the kernel, or by
 *  FUSE if the kernel lacks a client. The key is passed in a file that only root can read. Source: volume
 *  sources, document 3 §2.3 and §2.5. */
import type { CephFSPersistentVolumeSource } from '#api/gen/core-v1.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import {
  KERNEL_LIST,
  knowsFileSystem,
  MountHelperError,
  mountForPod,
  runMountHelper,
  runMountProgram,
  UNMOUNT_WITHOUT_SERVER,
} from '../network/helper-mount.ts';
import { joinMountOptions, optionValue } from '../network/mount-options.ts';
import { withSecretFile } from '../network/secret-file.ts';
import { checkServerPath, formatServerWithPort } from '../network/server-address.ts';
import { readSecretRef } from '../objects/secret-ref.ts';
import { MissingProgramError } from '../programs/errors.ts';

/** Validated volume. */
interface CephVolume {
  /** Comma-separated. */
  readonly monitors: string;
  readonly path: string;
  readonly user: string;
  readonly options: readonly string[];
}

const DEFAULT_USER = 'admin';

/** The name also determines the default file of its key.
 *  @throws VolumeSetupError */
function checkUser(user: string): string {
  if (!/^\.|\/|\.\./.test(user)) return optionValue('cephfs.user', user);
  throw new VolumeSetupError(`cephfs.user ${JSON.stringify(user)} must be a name without "/" and ".."`);
}

function readVolume(
  spec: CephFSPersistentVolumeSource,
  mountOptions: readonly string[],
  readOnly: boolean,
): CephVolume {
  const { monitors, path = '', user = '' } = spec;
  if (monitors.length === 0) throw new VolumeSetupError('cephfs.monitors: Required value');
  return {
    monitors: monitors.map((monitor) => formatServerWithPort('cephfs.monitors', monitor)).join(','),
    path: checkServerPath('cephfs.path', path.startsWith('/') ? path : `/${path}`),
    user: checkUser(user === '' ? DEFAULT_USER : user),
    options: joinMountOptions(mountOptions, readOnly ? ['ro'] : []),
  };
}

/** Returns the user's key from a secret: the entry `key`, or the only one.
 *  @throws VolumeSetupError */
export function readCephKey(data: ReadonlyMap<string, Buffer>, secretName: string): string {
  const [only] = data.values();
  const bytes = data.get('key') ?? (data.size === 1 ? only : undefined);
  const key = bytes?.toString('utf8').trim() ?? '';
  if (/^[A-Za-z0-9+/=]+$/.test(key)) return key;
  throw new VolumeSetupError(`Secret ${secretName} must have the user's key, alone or under the name "key"`);
}

/** Calls `use` with the path of a file with the key. */
async function withKeyFile(
  spec: CephFSPersistentVolumeSource,
  { user }: CephVolume,
  { namespace, services }: SourceRequest,
  use: (path: string) => Promise<void>,
): Promise<void> {
  const { secretRef, secretFile = '' } = spec;
  if (secretRef === undefined) {
    const path = secretFile === '' ? `/etc/ceph/${user}.secret` : secretFile;
    checkServerPath('cephfs.secretFile', path);
    await use(optionValue('cephfs.secretFile', path));
    return;
  }
  const data = await readSecretRef(services.objects, namespace, secretRef);
  await withSecretFile(`${readCephKey(data, secretRef.name ?? '')}\n`, use);
}

async function mountByKernel(
  { monitors, path, user, options }: CephVolume,
  keyFile: string,
  { services, signal }: SourceRequest,
  dir: string,
): Promise<void> {
  const login = [`name=${user}`, `secretfile=${keyFile}`];
  const mount = {
    type: 'ceph',
    fileSystem: 'ceph',
    source: `${monitors}:${path}`,
    options: [...login, ...options],
  };
  await runMountHelper(services, mount, dir, signal);
}

async function mountByFuse(
  { monitors, path, user, options }: CephVolume,
  keyFile: string,
  { services, signal }: SourceRequest,
  dir: string,
): Promise<void> {
  const args = ['-m', monitors, '--id', user, '--keyfile', keyFile, '-r', path, dir];
  if (options.length > 0) args.push('-o', options.join(','));
  const source = `${monitors}:${path}`;
  await runMountProgram(services, { program: 'ceph-fuse', args, source, fileSystem: 'fuse' }, signal);
}

/** FUSE only if the kernel has no client, which is faster. */
async function mountEither(
  fileSystems: string,
  volume: CephVolume,
  keyFile: string,
  request: SourceRequest,
  dir: string,
): Promise<void> {
  try {
    await mountByKernel(volume, keyFile, request, dir);
  } catch (thrown) {
    const missing = thrown instanceof MissingProgramError;
    const unknown = thrown instanceof MountHelperError && !(await knowsFileSystem('ceph', fileSystems));
    if (!missing && !unknown) throw thrown;
    try {
      await mountByFuse(volume, keyFile, request, dir);
    } catch (second) {
      // If the other program is missing, the first error is the reason.
      if (second instanceof MissingProgramError) throw thrown;
      throw second;
    }
  }
}

async function setUp(
  fileSystems: string,
  spec: CephFSPersistentVolumeSource,
  request: SourceRequest,
): Promise<ReadyVolume> {
  const readOnly = request.readOnly || spec.readOnly === true;
  const volume = readVolume(spec, request.mountOptions, readOnly);
  const dir = await mountForPod(request, 'cephfs', (at) =>
    withKeyFile(spec, volume, request, (keyFile) => mountEither(fileSystems, volume, keyFile, request, at)),
  );
  return { hostPath: dir, readOnly, seLinuxRelabel: false, changes: false };
}

/** @param fileSystems list of file systems known to the kernel */
export function createCephfs(fileSystems: string = KERNEL_LIST): SourcePlugin {
  return defineSource(
    'cephfs',
    {
      summary: 'A directory of a Ceph file system.',
      use: 'both',
      mountOptions: true,
      programs: ['mount.ceph'],
      fileSystems: ['ceph'],
      notes: [
        'If the kernel has no Ceph client, the agent uses ceph-fuse, provided that it is installed.',
        'fsGroup is not applied.',
      ],
    },
    (spec, request) => setUp(fileSystems, spec, request),
    UNMOUNT_WITHOUT_SERVER,
  );
}

export const cephfs: SourcePlugin = createCephfs();
