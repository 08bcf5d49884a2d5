/** What the VM gets on its second disk: the installed agent without its Node, which is in the image, and the images
 *  that pods use. */
import { execFile } from 'node:child_process';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { buildLocalImages } from '#agent/runtime/managed/images.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { install } from '#packaging/install.ts';
import { installPaths } from '#packaging/paths.ts';
import { systemctl } from '#packaging/systemctl.ts';

const run = promisify(execFile);
const REPOSITORY = resolve(import.meta.dirname, '..', '..');
/** Where the images' archives are in it. */
export const IMAGES_DIR = '/var/lib/vm-images';

/** Installs into a folder beside `target` and packs it.
 *  @param endpoint of the VM's container runtime */
export async function writePayload(target: string, endpoint: string): Promise<void> {
  const root = `${target}.d`;
  await install(
    { systemctl, log: silentLogger, say: () => undefined },
    { repository: REPOSITORY, root, endpoint, start: false },
  );
  await rm(join(installPaths(root).program, 'bin'), { recursive: true });
  await mkdir(join(root, IMAGES_DIR), { recursive: true });
  for (const [index, image] of (await buildLocalImages()).entries()) {
    await writeFile(join(root, IMAGES_DIR, `${index}.tar`), image.tar);
  }
  await run('tar', ['--create', '--file', target, '--directory', root, '.']);
  await rm(root, { recursive: true });
}
