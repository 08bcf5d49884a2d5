/** The files that the agent keeps for a pod beside its volumes: hosts file and termination logs.
 *  They are bind-mounted into containers, so nothing a container wrote there is trusted. */
import { constants } from 'node:fs';
import { type FileHandle, mkdir, open, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { SUB_PATHS, VOLUMES } from '#volumes/layout.ts';
import { podHostname } from '../runtime/config/hostname.ts';
import { hostNetworkHostsFile, podHostsFile } from '../runtime/config/hosts-file.ts';
import { podIdentity } from './identity.ts';

export interface PodFiles {
  podDir(podUID: string): string;
  /** Path of the termination log of one instance of a container. */
  terminationLog(podUID: string, containerName: string, attempt: number): string;
  /** Makes an empty termination log that any user in the container may write. Returns its path. */
  createTerminationLog(podUID: string, containerName: string, attempt: number): Promise<string>;
  /** Writes the pod's hosts file and returns its path. */
  writeHosts(pod: Pod, podIPs: readonly string[]): Promise<string>;
  /** Removes the pod's folder with these files. @throws PodFolderError while its volumes are not gone */
  remove(podUID: string): Promise<void>;
}

/** A pod's folder holds what must not be touched. */
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
/** Folders that the volume manager takes down; a mount may lie in them. */
const VOLUME_FOLDERS: readonly string[] = [VOLUMES, SUB_PATHS];
/** O_NONBLOCK: nothing that is put in the file's place holds the agent up. */
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
      // Past the umask: the container may run as any user.
      await file.chmod(0o666);
      return path;
    },
    async writeHosts(pod, podIPs) {
      const path = join(podDir(podIdentity(pod).uid), 'etc-hosts');
      await mkdir(join(path, '..'), { recursive: true, mode: 0o750 });
      const wanted = Buffer.from(await hostsText(pod, podIPs));
      await using file = await openOwn(path, 0o644);
      // Written in place: containers hold the inode.
      if (!(await holds(file, wanted))) {
        await file.truncate();
        await file.writeFile(wanted);
      }
      await file.chmod(0o644);
      return path;
    },
    async remove(podUID) {
      const names = await readdir(podDir(podUID)).catch(() => []);
      const held = names.filter((name) => VOLUME_FOLDERS.includes(name));
      // Removing across a mount would remove what is the node's or another pod's.
      if (held.length > 0) throw new PodFolderError(`${podDir(podUID)} still has ${held.join(' and ')}`);
      await rm(podDir(podUID), { recursive: true, force: true });
    },
  };
}

/** A file of the agent, made when missing. @throws PodFolderError when something else lies in its place */
async function openOwn(path: string, mode: number): Promise<FileHandle> {
  const file = await open(path, OPEN_OWN, mode);
  if ((await file.stat()).isFile()) return file;
  await file.close();
  throw new PodFolderError(`${path} is not a regular file`);
}

/** Whether the file has just this content. A container may have made it as large as the disk: a file of another
 *  size is not read. */
async function holds(file: FileHandle, wanted: Buffer): Promise<boolean> {
  if ((await file.stat()).size !== wanted.length) return false;
  const { buffer, bytesRead } = await file.read(Buffer.alloc(wanted.length), 0, wanted.length, 0);
  return bytesRead === wanted.length && buffer.equals(wanted);
}
