/** Where things of a pod lie beneath the agent's root directory. Pure.
 *  `pods/<uid>/volumes/<domain>~<source>/<volume>` and `pods/<uid>/volume-subpaths/<volume>/<container>/<index>`. */
import { join } from 'node:path';
import { VolumeSetupError } from './setup-error.ts';

export const VOLUMES = 'volumes';
export const SUB_PATHS = 'volume-subpaths';

const NAME = /^[A-Za-z0-9][A-Za-z0-9._~-]{0,252}$/;

/** Refuses names that would mean another directory; all of these come from pods.
 *  @throws VolumeSetupError */
export function checkName(what: string, name: string): string {
  if (NAME.test(name)) return name;
  throw new VolumeSetupError(`${what} ${JSON.stringify(name.slice(0, 100))} can't be used as a file name`);
}

/** Directory in which there is one directory for each pod. */
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
}

/** @throws VolumeSetupError */
export function volumeDir(rootDir: string, place: VolumePlace): string {
  const { podUID, source, volumeName } = place;
  return join(
    podDir(rootDir, podUID),
    VOLUMES,
    checkName('volume source', source),
    checkName('volume name', volumeName),
  );
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
