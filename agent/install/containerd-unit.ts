/** Helper commands of the units: `prepare` writes the containerd configuration, `load-images` imports the
 *  local images, `stop-pods` stops the pods when the machine shuts down. */
import { pino } from 'pino';
import { buildLocalImages, importImages } from '#agent/runtime/managed/images.ts';
import { containerdLayout } from '#agent/runtime/managed/layout.ts';
import { PAUSE_IMAGE } from '#agent/runtime/managed/local-images.ts';
import { prepareContainerd } from '#agent/runtime/managed/prepare.ts';
import { findRuntimePrograms } from '#agent/runtime/managed/programs.ts';
import type { Logger } from '#api/kit/logger.ts';
import { INSTALLED_CONTAINERD } from './paths.ts';
import { stopPods } from './stop-pods.ts';

const log: Logger = pino({ base: null, level: 'info' });

async function main(command: string | undefined): Promise<void> {
  const { networkName, socketPath } = INSTALLED_CONTAINERD;
  switch (command) {
    case 'prepare':
      await prepareContainerd({
        layout: containerdLayout(INSTALLED_CONTAINERD),
        programs: await findRuntimePrograms(),
        networkName,
        sandboxImage: PAUSE_IMAGE,
        systemdCgroup: false,
      });
      return;
    case 'load-images':
      await importImages(await buildLocalImages(), { socketPath, log });
      return;
    case 'stop-pods':
      await stopPods({ endpoint: `unix://${socketPath}`, log });
      return;
    case undefined:
    default:
      throw new RangeError('usage: containerd-unit prepare|load-images|stop-pods');
  }
}

try {
  await main(process.argv[2]);
  process.exit(0);
} catch (err) {
  log.error({ err }, 'Failed');
  process.exit(1);
}
