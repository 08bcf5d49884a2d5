/** Files of a pod besides its volumes: hosts file and termination logs.
 *  They are bind-mounted into containers, so their content is not trusted. */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { SUB_PATHS, VOLUMES } from '#volumes/files/layout.ts';
import type { IdentifiedPod } from '../pod-identity/identity.ts';
import { hostNetworkHostsFile, podHostname, podHostsFile } from '../runtime/config/hostname.ts';

export interface PodFiles {
  podDir(podUID: string): string;
  /** Path of the termination log of one container instance. */
  terminationLog(podUID: string, containerName: string, attempt: number): string;
  /** Creates an empty termination log that is writable for any user in the container. Returns its path. */
  createTerminationLog(podUID: string, containerName: string, attempt: number): Promise<string>;
  /** Writes the hosts file of the pod and returns its path. */
  writeHosts(target: IdentifiedPod, podIPs: readonly string[]): Promise<string>;
  /** Removes the directory of the pod with these files. @throws PodFolderError while volumes remain in it */
  remove(podUID: string): Promise<void>;
}

/** The directory of a pod contains files that must not be touched. */
export class PodFolderError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PodFolderError';
  }
}

export interface PodFilesOptions {
  readonly podsDir: string;
  readonly clusterDomain: string;
  readonly vocabulary: Vocabulary;
}

const NODE_HOSTS_FILE = '/etc/hosts';
/** Directories that belong to the volume manager; they may contain mounts. */
const VOLUME_FOLDERS: readonly string[] = [VOLUMES, SUB_PATHS];
/** O_NONBLOCK: a FIFO in place of the file cannot block the agent. */
const OPEN_OWN = constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export function createPodFiles({ podsDir, clusterDomain, vocabulary }: PodFilesOptions): PodFiles {
  const podDir = (podUID: string): string => join(podsDir, podUID);
  const terminationLog = (podUID: string, containerName: string, attempt: number): string =>
    join(podDir(podUID), 'containers', containerName, String(attempt));

  async function hostsText(pod: Pod, podIPs: readonly string[]): Promise<string> {
    const hostAliases = pod.spec?.hostAliases ?? [];
    if (pod.spec?.hostNetwork === true) {
      const nodeHosts = await readFile(NODE_HOSTS_FILE, 'utf8').catch(() => '');
      return hostNetworkHostsFile(vocabulary, nodeHosts, hostAliases);
    }
    const names = podHostname(pod, clusterDomain);
    const { hostname, domain } = names.kind === 'ok' ? names : { hostname: '', domain: '' };
    return podHostsFile({ vocabulary, podIPs, hostname, domain, hostAliases });
  }

  return {
    podDir,
    terminationLog,
    async createTerminationLog(podUID, containerName, attempt) {
      const path = terminationLog(podUID, containerName, attempt);
      await mkdir(join(path, '..'), { recursive: true, mode: 0o750 });
      await using file = await openOwn(path, 0o666);
      await file.truncate();
      // Independent of the umask: the container may run as any user.
      await file.chmod(0o666);
      return path;
    },
    async writeHosts({ pod, uid }, podIPs) {
      const path = join(podDir(uid), 'etc-hosts');
      await mkdir(join(path, '..'), { recursive: true, mode: 0o750 });
      const wanted = Buffer.from(await hostsText(pod, podIPs));
      await using file = await openOwn(path, 0o644);
      // Written in place: containers bind-mount the inode.
      if (!(await holds(file, wanted))) {
        await file.truncate();
        await file.writeFile(wanted);
      }
      await file.chmod(0o644);
      return path;
    },
    async remove(podUID) {
      const names = await readdir(podDir(podUID)).catch(() => []);
      const remaining = names.filter((name) => VOLUME_FOLDERS.includes(name));
      // A recursive removal across a mount would delete data of the node or of another pod.
      if (remaining.length > 0)
        throw new PodFolderError(`${podDir(podUID)} still has ${remaining.join(' and ')}`);
      await rm(podDir(podUID), { recursive: true, force: true });
    },
  };
}

/** Returns a file handle of a regular file, created when missing. @throws PodFolderError for any other file
 *  type */
async function openOwn(path: string, mode: number): Promise<FileHandle> {
  const file = await open(path, OPEN_OWN, mode);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new PodFolderError(`${path} is not a regular file`);
}

/** Reports whether the file has exactly this content. A container may have grown it to the size of the disk:
 *  a file of another size is not read. */
async function holds(file: FileHandle, wanted: Buffer): Promise<boolean> {
  if ((await file.stat()).size !== wanted.length) return false;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted.length), 0, wanted.length, 0);
  return bytesRead === wanted.length && buffer.equals(wanted);
}
