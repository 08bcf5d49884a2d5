/** Second disk of the VM: the installed agent without its Node, which is in the image, the images of pods,
 *  and programs that check parts of the agent on the VM's kernel. */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { install } from '#agent/install/install.ts';
import { installPaths } from '#agent/install/paths.ts';
import { buildImageArchive } from '#agent/runtime/managed/image-archive.ts';
import { buildLocalImages } from '#agent/runtime/managed/images.ts';
import { systemctl } from '#api/kit/install/systemctl.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { bundle } from '../../scripts/bundle.ts';

const run = promisify(execFile);
const REPOSITORY = resolve(import.meta.dirname, '..', '..');
/** Where the images' archives are in it. */
export const IMAGES_DIR = '/var/lib/vm-images';
/** One that is not loaded by itself: a script that does, its name, its size. */
const UNUSED_IMAGE_FILE = '/var/lib/vm-unused-image.tar';
export const LOAD_UNUSED_IMAGE: string = `ctr --namespace ${CONTAINERD_CRI_NAMESPACE} images import ${UNUSED_IMAGE_FILE}`;
export const UNUSED_IMAGE = 'docker.io/local/unused:1';
/** Stored packed and unpacked, it uses twice its size. */
export const UNUSED_IMAGE_MIB = 32;
/** Where the programs of checks/ are in it. */
export const CHECKS_DIR = '/usr/local/lib/vm-checks';
const CHECKS = { 'file-systems': 'e2e/vm/checks/file-systems.ts' } as const;

/** Installs into a folder beside `target` and packs it.
 *  @param endpoint of the VM's container runtime */
export async function writePayload(target: string, endpoint: string): Promise<void> {
  const root = `${target}.d`;
  await install(
    { systemctl, log: silentLogger, say: () => undefined },
    { repository: REPOSITORY, root, endpoint, start: false },
  );
  await rm(join(installPaths(root).program, 'bin'), { recursive: true });
  await bundle(join(root, CHECKS_DIR), CHECKS);
  await mkdir(join(root, IMAGES_DIR), { recursive: true });
  for (const [index, image] of (await buildLocalImages()).entries()) {
    await writeFile(join(root, IMAGES_DIR, `${index}.tar`), image.tar);
  }
  await writeFile(join(root, UNUSED_IMAGE_FILE), unusedImage());
  await run('tar', ['--create', '--file', target, '--directory', root, '.']);
  await rm(root, { recursive: true });
}

function unusedImage(): Buffer {
  const content = Buffer.alloc(UNUSED_IMAGE_MIB * 1024 * 1024);
  const entries = [{ kind: 'file', path: 'filler', mode: 0o644, content }] as const;
  return buildImageArchive({ name: UNUSED_IMAGE, entries }).tar;
}
