/** Initial RAM disk of the VM: busybox, the modules for its disk and the host channel, and guest/init.
 *  Debian's own contains everything, and takes seconds to unpack under emulation. */
import { execFile } from 'node:child_process';
import { copyFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const MODULES = ['virtio_mmio', 'virtio_blk', 'virtio_console', 'quota_v2'];

/** Packs it for the kernel `version` that is installed in `rootfs`. */
export async function writeInitrd(rootfs: string, version: string, target: string): Promise<void> {
  const folder = `${target}.d`;
  const modules = join(rootfs, 'lib/modules', version);
  const files = modulesInOrder(await readFile(join(modules, 'modules.dep'), 'utf8'), MODULES);
  for (const name of ['bin', 'dev', 'disk', 'modules']) await mkdir(join(folder, name), { recursive: true });
  for (const file of files) await copyFile(join(modules, file), join(folder, 'modules', basename(file)));
  await writeFile(
    join(folder, 'modules/order'),
    files.map((file) => `${basename(file)}\n`),
  );
  await copyFile(join(rootfs, 'bin/busybox'), join(folder, 'bin/busybox'));
  await copyFile(join(import.meta.dirname, 'guest/init'), join(folder, 'init'));
  await run('chmod', ['755', join(folder, 'init'), join(folder, 'bin/busybox')]);
  await run('sh', ['-c', 'cd "$1" && busybox find . | busybox cpio -o -H newc >"$2"', 'sh', folder, target]);
  await rm(folder, { recursive: true });
}

/** Returns the modules with their dependencies, in load order, without duplicates.
 *  @param dependencies `modules.dep`: a module, a colon, its dependencies, the last one first */
function modulesInOrder(dependencies: string, names: readonly string[]): readonly string[] {
  const lines = dependencies.split('\n');
  const wanted = names.flatMap((name) => {
    const line = lines.find((candidate) => candidate.includes(`/${name}.ko:`)) ?? '';
    return line
      .split(/:? +|:$/)
      .filter(Boolean)
      .toReversed();
  });
  return [...new Set(wanted)];
}
