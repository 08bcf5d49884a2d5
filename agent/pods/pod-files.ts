/** The files that the agent keeps for a pod beside its volumes: hosts file and termination logs.
 *  They are bind-mounted into containers, so nothing a container wrote there is trusted. */
import { chmod, mkdir, open, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
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
  /** Removes the pod's folder with these files; its volumes must be gone before. */
  remove(podUID: string): Promise<void>;
}

export interface PodFilesOptions {
  readonly podsDir: string;
  readonly clusterDomain: string;
  readonly vocabulary: Vocabulary;
}

const NODE_HOSTS_FILE = '/etc/hosts';

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
      const file = await open(path, 'w', 0o666);
      try {
        // Past the umask: the container may run as any user.
        await file.chmod(0o666);
      } finally {
        await file.close();
      }
      return path;
    },
    async writeHosts(pod, podIPs) {
      const path = join(podDir(podIdentity(pod).uid), 'etc-hosts');
      await mkdir(join(path, '..'), { recursive: true, mode: 0o750 });
      const text = await hostsText(pod, podIPs);
      const current = await readFile(path, 'utf8').catch(() => undefined);
      // Written in place: containers hold the inode.
      if (current !== text) await writeFile(path, text, { mode: 0o644 });
      await chmod(path, 0o644);
      return path;
    },
    remove: (podUID) => rm(podDir(podUID), { recursive: true, force: true }),
  };
}
