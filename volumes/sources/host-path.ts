/** hostPath: a path of the node. It is checked, created if its type says so, and never removed.
 *  Source: volume sources, document 3 §2.3; links are followed. */

import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { HostPathVolumeSource } from '#api/gen/core-v1.ts';
import { errorCode, unlessCode } from '#api/kit/errno.ts';
import { makeOpenFolder } from '#api/kit/files/open-folder.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { CREATE_NEW } from '../files/ownership.ts';

type HostPathType = NonNullable<HostPathVolumeSource['type']>;

interface Expectation {
  readonly noun: string;
  readonly matches: (stats: Stats) => boolean;
  readonly create?: (path: string) => Promise<unknown>;
}

/** Creates only the file; its directory must exist. */
async function makeFile(path: string): Promise<void> {
  await unlessCode(['EEXIST'], async () => {
    await using file = await open(path, CREATE_NEW, 0o644);
    await file.chmod(0o644);
  });
}

const EXPECTATIONS: Readonly<Record<Exclude<HostPathType, ''>, Expectation>> = {
  DirectoryOrCreate: { noun: 'a directory', matches: (stats) => stats.isDirectory(), create: makeOpenFolder },
  Directory: { noun: 'a directory', matches: (stats) => stats.isDirectory() },
  FileOrCreate: { noun: 'a file', matches: (stats) => stats.isFile(), create: makeFile },
  File: { noun: 'a file', matches: (stats) => stats.isFile() },
  Socket: { noun: 'a socket', matches: (stats) => stats.isSocket() },
  CharDevice: { noun: 'a character device', matches: (stats) => stats.isCharacterDevice() },
  BlockDevice: { noun: 'a block device', matches: (stats) => stats.isBlockDevice() },
};

async function statOrUndefined(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

/** The message starts as upstream's does: users and tests search events for it. */
const failedCheck = (why: string): VolumeSetupError =>
  new VolumeSetupError(`hostPath type check failed: ${why}`);

/** @throws VolumeSetupError when the object at `path` does not have the type */
async function checkHostPath(path: string, type: HostPathType): Promise<void> {
  if (!isAbsolute(path) || path.includes('\0')) {
    throw new VolumeSetupError(`hostPath ${JSON.stringify(path)} is not an absolute path`);
  }
  if (path.split('/').includes('..')) {
    throw new VolumeSetupError(`hostPath ${JSON.stringify(path)} must not contain ".."`);
  }
  if (type === '') return;
  const expectation = Object.hasOwn(EXPECTATIONS, type) ? EXPECTATIONS[type] : undefined;
  if (expectation === undefined) {
    throw new VolumeSetupError(
      `hostPath type ${JSON.stringify(type)} is unknown; use one of ${Object.keys(EXPECTATIONS).join(', ')}`,
    );
  }
  let stats = await statOrUndefined(path);
  if (stats === undefined && expectation.create !== undefined) {
    await expectation.create(path);
    stats = await statOrUndefined(path);
  }
  if (stats === undefined) throw failedCheck(`${path} does not exist (type ${type})`);
  if (!expectation.matches(stats)) throw failedCheck(`${path} is not ${expectation.noun} (type ${type})`);
}

async function setUp(spec: HostPathVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  await checkHostPath(spec.path, spec.type ?? '');
  return { hostPath: spec.path, readOnly: request.readOnly, seLinuxRelabel: false, changes: false };
}

export const hostPath: SourcePlugin = defineSource(
  'hostPath',
  { summary: 'A file, directory, socket or device of the node.', use: 'both' },
  setUp,
);
