/** Import of the locally built images into a containerd. Images with unchanged content are skipped. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Logger } from '#api/kit/logger.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { buildImageArchive, type ImageArchive } from './image-archive.ts';
import { describeBusyboxImage, describePauseImage } from './local-images.ts';
import { findProgram } from './programs.ts';

const run = promisify(execFile);
/** Timeout of one ctr call, in ms. */
const CTR_TIMEOUT_MS = 60_000;

export interface ImageImportOptions {
  /** Socket of the containerd that receives the images. */
  readonly socketPath: string;
  readonly log: Logger;
  readonly signal?: AbortSignal;
}

/** An image failed to import. */
class ImageImportError extends Error {
  constructor(name: string, cause: unknown) {
    super(`failed to import image ${name}`, { cause });
    this.name = 'ImageImportError';
  }
}

/** Builds the pause image and the demo image from the installed catatonit and busybox.
 *  @throws MissingProgramError when one of them is not installed */
export async function buildLocalImages(): Promise<readonly ImageArchive[]> {
  const [catatonit, busybox] = await Promise.all([
    findProgram('catatonit', 'catatonit'),
    findProgram('busybox', 'busybox-static'),
  ]);
  const [pauseContent, busyboxContent, list] = await Promise.all([
    readFile(catatonit),
    readFile(busybox),
    run(busybox, ['--list-full']),
  ]);
  const applets = list.stdout.split('\n').filter((line) => line !== '');
  return [
    buildImageArchive(describePauseImage(pauseContent)),
    buildImageArchive(describeBusyboxImage(busyboxContent, applets)),
  ];
}

/** Imports the images that containerd lacks or has with different content; returns their names.
 *  @throws ImageImportError */
export async function importImages(
  images: readonly ImageArchive[],
  options: ImageImportOptions,
): Promise<readonly string[]> {
  const ctr = await findProgram('ctr', 'containerd');
  const imported: string[] = [];
  for (const image of images) {
    if ((await storedDigest(ctr, image.name, options)) === image.manifestDigest) continue;
    await importImage(ctr, image, options);
    options.log.info({ component: 'images', image: image.name }, 'Image imported');
    imported.push(image.name);
  }
  return imported;
}

/** Returns the manifest digest of an image name, or undefined when containerd does not have it. */
async function storedDigest(
  ctr: string,
  name: string,
  options: ImageImportOptions,
): Promise<string | undefined> {
  const { stdout } = await callCtr(ctr, ['images', 'list', `name==${name}`], options);
  return /\bsha256:[0-9a-f]{64}\b/.exec(stdout)?.[0];
}

async function importImage(ctr: string, image: ImageArchive, options: ImageImportOptions): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'na-image-'));
  try {
    const path = join(folder, 'image.tar');
    await writeFile(path, image.tar, { mode: 0o600 });
    await callCtr(ctr, ['images', 'import', path], options);
  } catch (thrown) {
    options.signal?.throwIfAborted();
    throw new ImageImportError(image.name, thrown);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function callCtr(
  ctr: string,
  args: readonly string[],
  options: ImageImportOptions,
): Promise<{ readonly stdout: string; readonly stderr: string }> {
  return run(ctr, ['--address', options.socketPath, '--namespace', CONTAINERD_CRI_NAMESPACE, ...args], {
    timeout: CTR_TIMEOUT_MS,
    ...(options.signal === undefined ? {} : { signal: options.signal }),
  });
}
