/** Layout of a pod's files beneath the agent's root directory. Pure.
 *  `pods/<uid>/volumes/<domain>~<source>/<volume>` and
 *  `pods/<uid>/volume-subpaths/<volume>/<container>/<index>`; raw devices in `volumeDevices`, undo records
 *  in `pods/<uid>/volume-records/<volume>.json`; `plugins/<domain>~<source>/<hash>` for volumes staged
 *  once per node. */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { VolumeSetupError } from '../errors/setup-error.ts';

export const VOLUMES = 'volumes';
export const VOLUME_DEVICES = 'volumeDevices';
export const SUB_PATHS = 'volume-subpaths';
export const VOLUME_RECORDS = 'volume-records';
export const STAGE_RECORD = 'record.json';
export const GLOBAL_MOUNT = 'globalmount';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,252}$/;

/** Rejects names that would lead to another directory; all of them come from pods.
 *  @throws VolumeSetupError */
export function checkName(what: string, name: string): string {
  if (NAME.test(name)) return name;
  throw new VolumeSetupError(`${what} ${JSON.stringify(name.slice(0, 100))} cannot be used as a file name`);
}

/** Directory that contains one directory per pod. */
export const podsDir = (rootDir: string): string => join(rootDir, 'pods');

/** @throws VolumeSetupError */
export function podDir(rootDir: string, podUID: string): string {
  return join(podsDir(rootDir), checkName('pod UID', podUID));
}

export interface VolumePlace {
  readonly podUID: string;
  /** Domain and name of the source, as in `<domain>~empty-dir`. */
  readonly source: string;
  readonly volumeName: string;
  /** A raw device. */
  readonly block?: boolean;
}

/** @throws VolumeSetupError */
export function volumeDir(rootDir: string, place: VolumePlace): string {
  const { podUID, source, volumeName, block = false } = place;
  return join(
    podDir(rootDir, podUID),
    block ? VOLUME_DEVICES : VOLUMES,
    checkName('volume source', source),
    checkName('volume name', volumeName),
  );
}

/** @throws VolumeSetupError */
export function volumesDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), VOLUMES);
}

/** @throws VolumeSetupError */
export function subPathsDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), SUB_PATHS);
}

export interface SubPathPlace {
  readonly podUID: string;
  readonly volumeName: string;
  readonly containerName: string;
  readonly mountIndex: number;
}

/** @throws VolumeSetupError */
export function subPathTarget(rootDir: string, place: SubPathPlace): string {
  const { podUID, volumeName, containerName, mountIndex } = place;
  return join(
    subPathsDir(rootDir, podUID),
    checkName('volume name', volumeName),
    checkName('container name', containerName),
    checkName('mount index', String(mountIndex)),
  );
}

/** @throws VolumeSetupError */
export function recordsDir(rootDir: string, podUID: string): string {
  return join(podDir(rootDir, podUID), VOLUME_RECORDS);
}

/** @throws VolumeSetupError */
export function publishRecordFile(rootDir: string, podUID: string, volumeName: string): string {
  return join(recordsDir(rootDir, podUID), `${checkName('volume name', volumeName)}.json`);
}

/** Directory that contains one directory per source for its staged volumes. */
export const pluginsDir = (rootDir: string): string => join(rootDir, 'plugins');

/** @param source domain and name, as in `<domain>~iscsi`
 *  @throws VolumeSetupError */
export function stageDir(rootDir: string, source: string, uniqueName: string): string {
  const hash = createHash('sha256').update(uniqueName).digest('hex');
  return join(pluginsDir(rootDir), checkName('volume source', source), hash);
}
