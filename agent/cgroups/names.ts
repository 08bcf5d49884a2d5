/** Names of the cgroups of pods, and how each of the two drivers writes them. Pure.
 *  Source: document 3, 4.3 (`--cgroup-driver`, `--cgroup-root`); systemd.slice(5); upstream's cgroup manager, 1.24. */
import type { QosClass } from '#api/schema/qos-class.ts';

/** Parts from the root down, such as `nodeagent`, `burstable`, `pod1234`; none is the root itself. */
export type CgroupName = readonly string[];

export type CgroupDriver = 'cgroupfs' | 'systemd';

/** A cgroup that a name or a path does not lead to. */
export class CgroupNameError extends Error {
  override readonly name = 'CgroupNameError';

  constructor(text: string) {
    super(`${JSON.stringify(text.slice(0, 200))} is no name of a cgroup, such as /nodeagent/pods`);
  }
}

const PART = /^[A-Za-z0-9][A-Za-z0-9._:-]{0,200}$/;
const POD_PART = /^pod([A-Za-z0-9][A-Za-z0-9._:-]{0,199})$/;
const SLICE = '.slice';

/** Reads `/a/b` of the configuration; `/` and the empty text are the root. @throws CgroupNameError */
export function parseCgroupName(text: string): CgroupName {
  const parts = text.split('/').filter((part) => part !== '');
  if (parts.every((part) => PART.test(part))) return parts;
  throw new CgroupNameError(text);
}

/** Hyphens part the levels in names of slices. */
const escape = (part: string): string => part.replaceAll('-', '_');

/** `/nodeagent.slice/nodeagent-burstable.slice`: every slice has the names of all above it. */
function slicePath(name: CgroupName): string {
  const names = name.map((part) => escape(part.endsWith(SLICE) ? part.slice(0, -SLICE.length) : part));
  return names.map((_, i) => `/${names.slice(0, i + 1).join('-')}${SLICE}`).join('');
}

/** Path in a hierarchy, with a slash in front. */
export function cgroupPath(name: CgroupName, driver: CgroupDriver): string {
  if (name.length === 0) return '/';
  return driver === 'systemd' ? slicePath(name) : `/${name.join('/')}`;
}

/** The unit that systemd knows the cgroup as. */
export function sliceName(name: CgroupName): string {
  return name.length === 0 ? '-.slice' : (slicePath(name).split('/').at(-1) ?? '');
}

export interface PodCgroupOptions {
  /** The cgroup that all pods are in. */
  readonly root: CgroupName;
  /** Whether there is one for each lower class of service. */
  readonly perQos: boolean;
}

const CLASS_PART: Readonly<Record<QosClass, readonly string[]>> = {
  Guaranteed: [],
  Burstable: ['burstable'],
  BestEffort: ['besteffort'],
};

/** The cgroup of a class; guaranteed pods are in that of all pods. */
export const qosCgroup = ({ root, perQos }: PodCgroupOptions, qos: QosClass): CgroupName =>
  perQos ? [...root, ...CLASS_PART[qos]] : root;

/** @throws CgroupNameError for a UID that would mean another cgroup */
export function podCgroup(options: PodCgroupOptions, qos: QosClass, podUID: string): CgroupName {
  const part = `pod${podUID}`;
  if (!POD_PART.test(part)) throw new CgroupNameError(part);
  return [...qosCgroup(options, qos), part];
}

/** The UID of the pod whose cgroup has this folder name; undefined for the folder of something else. A slice has
 *  lost the hyphens of the UID: compare it with `sameUid`. */
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

/** Whether the UID that a folder's name has is that of the pod. */
export const sameUid = (fromFolder: string, podUID: string): boolean =>
  fromFolder === podUID || fromFolder === escape(podUID);
