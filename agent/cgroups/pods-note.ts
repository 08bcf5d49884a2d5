/** Persists the path of the cgroup of all pods for the uninstaller: the driver is known only while the agent
 *  runs. */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Name of the file in the root directory. */
const PODS_CGROUP_NOTE = 'pods-cgroup';

/** @throws Error of the file system */
export async function savePodsCgroupPath(rootDir: string, path: string): Promise<void> {
  const file = join(rootDir, PODS_CGROUP_NOTE);
  if ((await readFile(file, 'utf8').catch(() => '')) === `${path}\n`) return;
  await writeFile(`${file}.tmp`, `${path}\n`, { mode: 0o600 });
  await rename(`${file}.tmp`, file);
}
