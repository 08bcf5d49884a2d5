/** `nodeagent prune` */
import { join } from 'node:path';
import type { Pod } from '#api/gen/core-v1.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { createImageRemover } from '../../gc/image-remover.ts';
import { PINNED_FILE, pinnedNames } from '../../runtime/managed/pinned-images.ts';
import { fetchPods } from '../client/responses.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { ENDPOINT_OPTION, openImageRuntime } from '../images/image-runtime.ts';
import { printable } from '../views/table.ts';
import { formatBytes } from '../views/top-view.ts';

export const command: Command = defineCommand({
  name: 'prune',
  summary:
    'Removes the images that no container and no pod of the agent uses. Pinned images and those of the archive\n' +
    '  directory stay.',
  usage: ['[options]'],
  options: {
    ...ENDPOINT_OPTION,
    'dry-run': { type: 'boolean', help: 'only print what would be removed' },
  },
  examples: [['prune --dry-run', 'the images that nothing uses']],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('prune takes no arguments');
    const { api, out, clock, signal } = context;
    // Without the agent, the images that its pods need are unknown.
    const pods = await fetchPods(api);
    await using runtime = await openImageRuntime(args.text('endpoint'), context);
    const { images, runtime: service } = runtime.connection;
    const removedIDs = new Set<string>();
    const remover = createImageRemover(
      {
        images,
        runtime: service,
        wanted: () => pods.flatMap(imagesOf),
        pinned: () => pinnedNames(join(runtime.setting('rootDir'), PINNED_FILE)),
        removed: (id) => removedIDs.add(id),
        clock,
        log: silentLogger,
      },
      { minAgeMs: 0, sandboxImages: [runtime.setting('podInfraContainerImage')] },
    );
    const unused = (await remover.refresh(signal)).map(({ id, sizeBytes, names }) => ({
      id,
      sizeBytes,
      name: [...names].find((name) => !name.includes('sha256:')) ?? id,
    }));
    if (!args.has('dry-run')) await remover.removeUnused('pressure', signal, () => Promise.resolve(false));
    const shown = args.has('dry-run') ? unused : unused.filter(({ id }) => removedIDs.has(id));
    const verb = args.has('dry-run') ? 'would be removed' : 'removed';
    for (const { name } of shown) await out.write(`${printable(name)} ${verb}\n`);
    const bytes = shown.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    await out.write(`${shown.length} images, ${formatBytes(bytes)}\n`);
    return 0;
  },
});

function imagesOf({ spec }: Pod): readonly string[] {
  const { containers = [], initContainers = [], ephemeralContainers = [] } = spec ?? {};
  return [...initContainers, ...containers, ...ephemeralContainers].flatMap(({ image }) => image ?? []);
}
