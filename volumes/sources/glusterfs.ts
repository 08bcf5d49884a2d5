/** glusterfs: a volume of Gluster servers named by an Endpoints object, mounted by FUSE into the pod's own
 *  directory.
 *  Source: volume sources, document 3 §2.3 and §2.5. */
import { open } from 'node:fs/promises';
import { isIPv6 } from 'node:net';
import { join } from 'node:path';
import type { Endpoints, GlusterfsPersistentVolumeSource } from '#api/gen/core-v1.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import {
  MountHelperError,
  mountForPod,
  runMountHelper,
  UNMOUNT_WITHOUT_SERVER,
} from '../network/helper-mount.ts';
import { hasOption, joinMountOptions } from '../network/mount-options.ts';
import { formatServer } from '../network/server-address.ts';
import { tidy } from '../programs/errors.ts';

/** Log directory of Gluster, which rotates its logs. */
const LOG_FOLDER = '/var/log/glusterfs';
const LOG_TAIL_BYTES = 4096;

/** One way to mount the volume. */
export interface GlusterMount {
  readonly source: string;
  readonly options: readonly string[];
}

/** Returns the unique addresses of every subset.
 *  @throws VolumeSetupError when there are none */
export function glusterAddresses(endpoints: Endpoints, what: string): readonly string[] {
  const all = (endpoints.subsets ?? []).flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip));
  if (all.length === 0) throw new VolumeSetupError(`${what} has no addresses`);
  return [...new Set(all)];
}

/** Returns mounts to try in this order: the helper itself tries further servers, but none with an IPv6
 *  address. Pure. */
export function glusterMounts(
  addresses: readonly string[],
  path: string,
  options: readonly string[],
): readonly GlusterMount[] {
  const [first, ...others] = addresses.filter((address) => !isIPv6(address));
  const source = (address: string): string => `${formatServer('address', address)}:${path}`;
  const backups =
    others.length === 0 || hasOption(options, 'backup-volfile-servers')
      ? []
      : [`backup-volfile-servers=${others.join(':')}`];
  return [
    ...(first === undefined ? [] : [{ source: source(first), options: [...options, ...backups] }]),
    ...addresses
      .filter((address) => isIPv6(address))
      .map((address) => ({ source: source(address), options })),
  ];
}

/** The helper is a shell script that splits at spaces: only plain names are accepted.
 *  @throws VolumeSetupError */
function checkPath(path: string): string {
  if (/^\/?\w[\w.-]*(?:\/[\w.@+=:-]+)*\/?$/.test(path) && !path.split('/').includes('..')) return path;
  throw new VolumeSetupError(
    `glusterfs.path ${JSON.stringify(path)} must be the name of a volume, or a directory in it, without spaces and ".."`,
  );
}

async function readTail(path: string, from: number): Promise<string> {
  try {
    await using file = await open(path);
    const { size } = await file.stat();
    const start = Math.max(from, size - LOG_TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOG_TAIL_BYTES), 0, LOG_TAIL_BYTES, start);
    return buffer.toString('utf8', 0, bytesRead);
  } catch {
    // Only the reason is lost; the failure itself is reported.
    return '';
  }
}

async function sizeOf(path: string): Promise<number> {
  try {
    await using file = await open(path);
    return (await file.stat()).size;
  } catch {
    return 0;
  }
}

/** Returns the last error in the client's log, since the helper only refers to the log. */
export function lastLogError(tail: string): string {
  const lines = tail.split('\n').filter((line) => / [EC] \[/.test(line));
  return tidy(lines.at(-1) ?? '').slice(0, 300);
}

async function findEndpoints(
  spec: GlusterfsPersistentVolumeSource,
  request: SourceRequest,
): Promise<readonly string[]> {
  const { namespace, services } = request;
  const where = (spec.endpointsNamespace ?? '') === '' ? namespace : (spec.endpointsNamespace ?? '');
  const what = `Endpoints ${where}/${spec.endpoints}`;
  const endpoints = await services.objects.getEndpoints(where, spec.endpoints);
  if (endpoints === undefined) throw new VolumeSetupError(`${what} not found`);
  return glusterAddresses(endpoints, what);
}

async function mountOne(
  mounts: readonly GlusterMount[],
  logFile: string,
  { services, signal }: SourceRequest,
  dir: string,
): Promise<void> {
  const begin = await sizeOf(logFile);
  let failure: MountHelperError | undefined;
  for (const mount of mounts) {
    try {
      await runMountHelper(services, { ...mount, type: 'glusterfs', fileSystem: 'fuse' }, dir, signal);
      return;
    } catch (thrown) {
      if (!(thrown instanceof MountHelperError)) throw thrown;
      failure = thrown;
    }
  }
  const lastError = lastLogError(await readTail(logFile, begin));
  const message = failure?.message ?? 'no address';
  throw new MountHelperError(lastError === '' ? message : `${message}; the client's log: ${lastError}`);
}

async function setUp(
  logFolder: string,
  spec: GlusterfsPersistentVolumeSource,
  request: SourceRequest,
): Promise<ReadyVolume> {
  const readOnly = request.readOnly || spec.readOnly === true;
  const path = checkPath(spec.path);
  const asked = joinMountOptions(request.mountOptions, readOnly ? ['ro'] : []);
  const logFile = join(logFolder, `${request.services.domain}-${path.replaceAll(/[^\w.-]+/g, '-')}.log`);
  const options = [
    ...asked,
    ...(hasOption(asked, 'log-file') ? [] : [`log-file=${logFile}`]),
    ...(hasOption(asked, 'log-level') ? [] : ['log-level=ERROR']),
  ];
  const dir = await mountForPod(request, 'glusterfs', async (at) => {
    const addresses = await findEndpoints(spec, request);
    await mountOne(glusterMounts(addresses, path, options), logFile, request, at);
  });
  return { hostPath: dir, readOnly, seLinuxRelabel: false, changes: false };
}

/** @param logFolder directory of the client's logs */
export function createGlusterfs(logFolder: string = LOG_FOLDER): SourcePlugin {
  return defineSource(
    'glusterfs',
    {
      summary: 'A volume of Gluster servers, whose addresses are in an Endpoints object.',
      use: 'both',
      mountOptions: true,
      programs: ['mount.glusterfs'],
      fileSystems: ['fuse'],
      notes: [
        'The Endpoints object is in the namespace of the pod, unless a PersistentVolume names another.',
        'The servers decide the ownership of files: fsGroup is not applied.',
      ],
    },
    (spec, request) => setUp(logFolder, spec, request),
    UNMOUNT_WITHOUT_SERVER,
  );
}

export const glusterfs: SourcePlugin = createGlusterfs();
