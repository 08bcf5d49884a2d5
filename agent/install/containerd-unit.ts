/** Helper commands of the units: `prepare` writes the containerd configuration, `load-images` imports the
 *  local images and the archives of the administrator, `stop-pods` stops the pods when the machine shuts down, `remove-cgroups` removes their cgroups before the
 *  program is removed. */
import { pino } from 'pino';
import { importArchives } from '#agent/runtime/managed/archives.ts';
import { buildLocalImages, importImages } from '#agent/runtime/managed/images.ts';
import { containerdLayout } from '#agent/runtime/managed/layout.ts';
import { PAUSE_IMAGE } from '#agent/runtime/managed/local-images.ts';
import { prepareContainerd } from '#agent/runtime/managed/prepare.ts';
import { findRuntimePrograms } from '#agent/runtime/managed/programs.ts';
import { systemctl } from '#api/kit/install/systemctl.ts';
import type { Logger } from '#api/kit/logger.ts';
import { INSTALLED_CONTAINERD, installPaths } from './paths.ts';
import { removePodCgroups } from './pod-cgroups.ts';
import { stopPods } from './stop-pods.ts';

const log: Logger = pino({ base: null, level: 'info' });

const { networkName, socketPath } = INSTALLED_CONTAINERD;
const paths = installPaths();

const COMMANDS: ReadonlyMap<string, () => Promise<unknown>> = new Map<string, () => Promise<unknown>>([
  [
    'prepare',
    async () =>
      prepareContainerd({
        layout: containerdLayout(INSTALLED_CONTAINERD),
        programs: await findRuntimePrograms(),
        networkName,
        sandboxImage: PAUSE_IMAGE,
        systemdCgroup: false,
        registryDir: paths.registries,
      }),
  ],
  [
    'load-images',
    async () => {
      await importImages(await buildLocalImages(), { socketPath, log });
      await importArchives({ folder: paths.images, recordPath: paths.pinned, socketPath, log });
    },
  ],
  [
    'remove-cgroups',
    () => {
      const say = (text: string): void => void process.stderr.write(`${text}\n`);
      return removePodCgroups({ systemctl, say }, { note: paths.podsCgroupNote });
    },
  ],
  ['stop-pods', () => stopPods({ endpoint: `unix://${socketPath}`, log })],
]);

const USAGE = `usage: containerd-unit ${[...COMMANDS.keys()].join('|')}`;

async function main(name: string): Promise<number> {
  if (name === '--help' || name === '-h') {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  const command = COMMANDS.get(name);
  if (command === undefined) {
    process.stderr.write(`containerd-unit: ${name}: unknown command; ${USAGE}\n`);
    return 2;
  }
  try {
    await command();
    return 0;
  } catch (err) {
    log.error({ err }, 'Failed');
    return 1;
  }
}

process.exit(await main(process.argv[2] ?? ''));
