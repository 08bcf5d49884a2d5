/** Where container logs lie. Pure.
 *  `<podLogsDir>/<namespace>_<name>_<uid>/<container>/<attempt>.log`, as CRI runtimes and log collectors expect. */
import { basename, join } from 'node:path';

export interface PodLogIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly podUID: string;
}

export interface ContainerLogIdentity {
  readonly namespace: string;
  readonly podName: string;
  readonly containerName: string;
  readonly containerID: string;
}

/** Longest file name that the usual file systems take, in bytes. */
const LONGEST_FILE_NAME = 255;
const LOG_SUFFIX = '.log';

/** Name of a pod's log directory. */
export function podLogDirName(pod: PodLogIdentity): string {
  return `${pod.namespace}_${pod.name}_${pod.podUID}`;
}

/** The pod's log directory: what the sandbox's `logDirectory` is set to. */
export function podLogDir(podLogsDir: string, pod: PodLogIdentity): string {
  return join(podLogsDir, podLogDirName(pod));
}

/** Path of a container's log relative to its pod's log directory: what the container's `logPath` is set to. */
export function containerLogName(containerName: string, attempt: number): string {
  return join(containerName, `${attempt}${LOG_SUFFIX}`);
}

/** Absolute path of the log of one attempt of a container. */
export function containerLogPath(
  podLogsDir: string,
  pod: PodLogIdentity,
  containerName: string,
  attempt: number,
): string {
  return join(podLogDir(podLogsDir, pod), containerLogName(containerName, attempt));
}

/** Reads the name of a pod's log directory; undefined when it is not of that form. */
export function parsePodLogDirName(dirName: string): PodLogIdentity | undefined {
  const [namespace = '', name = '', podUID = '', ...rest] = dirName.split('_');
  if (namespace === '' || name === '' || podUID === '' || rest.length > 0) return undefined;
  return { namespace, name, podUID };
}

/** `<pod>_<namespace>_<container>-<id>.log`, cut before the suffix where the file system would refuse it. */
export function containerLinkName(container: ContainerLogIdentity): string {
  const { podName, namespace, containerName, containerID } = container;
  const stem = `${podName}_${namespace}_${containerName}-${containerID}`;
  return stem.slice(0, LONGEST_FILE_NAME - LOG_SUFFIX.length) + LOG_SUFFIX;
}

/** Container ID at the end of a link's name; undefined when it has none or was cut. */
export function containerIDOfLink(linkName: string): string | undefined {
  const stem = basename(linkName, LOG_SUFFIX);
  const dash = stem.lastIndexOf('-');
  if (!linkName.endsWith(LOG_SUFFIX) || dash < 0 || linkName.length >= LONGEST_FILE_NAME) return undefined;
  return stem.slice(dash + 1);
}
