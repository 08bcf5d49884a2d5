/** Names of pod cgroups, and their form in each of the two drivers. Pure.
 *  Source: cgroup settings, document 3 §4.3 (`--cgroup-driver`, `--cgroup-root`); systemd.slice(5);
 *  upstream's cgroup manager, 1.24. */
import type { QosClass } from '#api/schema/qos-class.ts';

/** Segments from the root down, such as `nodeagent`, `burstable`, `pod1234`; empty is the root itself. */
export type CgroupName = readonly string[];

export type CgroupDriver = 'cgroupfs' | 'systemd';

/** An invalid cgroup name or path. */
export class CgroupNameError extends Error {
  override readonly name = 'CgroupNameError';

  constructor(text: string) {
    super(`${JSON.stringify(text.slice(0, 200))} is not a cgroup name such as /nodeagent/pods`);
  }
}

const PART = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,200}$/;
const POD_PART = /^pod([A-Za-z0-9][A-Za-z0-9._:-]{0,199})$/;
const SLICE = '.slice';

/** Parses `/a/b` of the configuration; `/` and the empty text are the root. @throws CgroupNameError */
export function parseCgroupName(text: string): CgroupName {
  const parts = text.split('/').filter((part) => part !== '');
  if (parts.every((part) => PART.test(part))) return parts;
  throw new CgroupNameError(text);
}

/** Hyphens separate the levels in slice names. */
const escape = (part: string): string => part.replaceAll('-', '_');

/** `/nodeagent.slice/nodeagent-burstable.slice`: the name of a slice contains those of its ancestors. */
function slicePath(name: CgroupName): string {
  const names = name.map((part) => escape(part.endsWith(SLICE) ? part.slice(0, -SLICE.length) : part));
  return names.map((_, i) => `/${names.slice(0, i + 1).join('-')}${SLICE}`).join('');
}

/** Path in a hierarchy, with a leading slash. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  if (name.length === 0) return '/';
  return driver === 'systemd' ? slicePath(name) : `/${name.join('/')}`;
}

/** Name of the systemd unit. */
export function sliceName(name: CgroupName): string {
  return name.length === 0 ? '-.slice' : (slicePath(name).split('/').at(-1) ?? '');
}

export interface PodCgroupOptions {
  /** Cgroup of all pods. */
  readonly root: CgroupName;
  /** Whether each lower QoS class has its own cgroup. */
  readonly perQos: boolean;
}

const CLASS_PART: Readonly<Record<QosClass, readonly string[]>> = {
  Guaranteed: [],
  Burstable: ['burstable'],
  BestEffort: ['besteffort'],
};

/** Returns the cgroup of a QoS class; guaranteed pods are directly in that of all pods. */
export const qosCgroup = ({ root, perQos }: PodCgroupOptions, qos: QosClass): CgroupName =>
  perQos ? [...root, ...CLASS_PART[qos]] : root;

/** @throws CgroupNameError for a UID that would address another cgroup */
export function podCgroup(options: PodCgroupOptions, qos: QosClass, podUID: string): CgroupName {
  const part = `pod${podUID}`;
  if (!POD_PART.test(part)) throw new CgroupNameError(part);
  return [...qosCgroup(options, qos), part];
}

/** Returns the UID of the pod with this cgroup directory name; undefined for other directories. Slice names
 *  lack the hyphens of the UID: compare with `sameUid`. */
export function podUidOf(folder: string, driver: CgroupDriver): string | undefined {
  const last =
    driver === 'systemd'
      ? folder
          .replace(/\.slice$/, '')
          .split('-')
          .at(-1)
      : folder;
  return POD_PART.exec(last ?? '')?.[1];
}

/** Reports whether the UID in a directory name is that of the pod. */
export const sameUid = (fromFolder: string, podUID: string): boolean =>
  fromFolder === podUID || fromFolder === escape(podUID);
