/** Paths of container logs. Pure.
 *  `<podLogsDir>/<namespace>_<name>_<uid>/<container>/<attempt>.log`, as CRI runtimes and log collectors
 *  expect. */
import { basename, join } from 'node:path';

export interface PodLogIdentity {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

export interface ContainerLogIdentity {
  readonly namespace: string;
  readonly podName: string;
  readonly containerName: string;
  readonly containerID: string;
}

/** Maximum length of a file name on common file systems, in bytes. */
const LONGEST_FILE_NAME = 255;
const LOG_SUFFIX = '.log';

/** Name of a pod's log directory. */
function podLogDirName(pod: PodLogIdentity): string {
  return `${pod.namespace}_${pod.name}_${pod.uid}`;
}

/** Returns the log directory of the pod, for `logDirectory` of the sandbox. */
export function podLogDir(podLogsDir: string, pod: PodLogIdentity): string {
  return join(podLogsDir, podLogDirName(pod));
}

/** Returns the log path of a container relative to the directory of its pod, for `logPath` of the container. */
export function containerLogName(containerName: string, attempt: number): string {
  return join(containerName, `${attempt}${LOG_SUFFIX}`);
}

/** Returns the absolute path of the log of one attempt of a container. */
export function containerLogPath(
  podLogsDir: string,
  pod: PodLogIdentity,
  containerName: string,
  attempt: number,
): string {
  return join(podLogDir(podLogsDir, pod), containerLogName(containerName, attempt));
}

/** Parses the name of a log directory of a pod; undefined for another format. */
export function parsePodLogDirName(dirName: string): PodLogIdentity | undefined {
  const [namespace = '', name = '', uid = '', ...rest] = dirName.split('_');
  if (namespace === '' || name === '' || uid === '' || rest.length > 0) return undefined;
  return { namespace, name, uid };
}

/** Returns `<pod>_<namespace>_<container>-<id>.log`, truncated before the suffix at the limit of file names. */
export function containerLinkName(container: ContainerLogIdentity): string {
  const { podName, namespace, containerName, containerID } = container;
  const stem = `${podName}_${namespace}_${containerName}-${containerID}`;
  return stem.slice(0, LONGEST_FILE_NAME - LOG_SUFFIX.length) + LOG_SUFFIX;
}

/** Returns the container ID at the end of a link name; undefined without one or if truncated. */
export function containerIDOfLink(linkName: string): string | undefined {
  const stem = basename(linkName, LOG_SUFFIX);
  const dash = stem.lastIndexOf('-');
  if (!linkName.endsWith(LOG_SUFFIX) || dash < 0 || linkName.length >= LONGEST_FILE_NAME) return undefined;
  return stem.slice(dash + 1);
}
