/** hostPath: a path of the node itself. It is checked, and created where its type says so, and never removed.
 *  Spec: document 3, 2.3; links are followed. */

import type { Stats } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { makeOpenFolder } from '#api/kit/open-folder.ts';
import type { HostPathVolumeSource } from '#api/schema/gen/core-v1.ts';
import { CREATE_NEW } from '../ownership.ts';
import { errorCode, unlessCode, VolumeSetupError } from '../setup-error.ts';
import { defineSource, type ReadyVolume, type SourcePlugin, type SourceRequest } from './source.ts';

type HostPathType = NonNullable<HostPathVolumeSource['type']>;

interface Expectation {
  readonly noun: string;
  readonly matches: (stats: Stats) => boolean;
  readonly create?: (path: string) => Promise<unknown>;
}

/** Its directory has to exist; only the file is made. */
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

/** @throws VolumeSetupError when what is at `path` isn't of the type */
export async function checkHostPath(path: string, type: HostPathType): Promise<void> {
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
  if (stats === undefined) throw new VolumeSetupError(`hostPath ${path} does not exist (type ${type})`);
  if (!expectation.matches(stats)) {
    throw new VolumeSetupError(`hostPath ${path} is not ${expectation.noun} (type ${type})`);
  }
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
