/** Releases what sandboxes left behind whose containers docker no longer has: networks and files. */
import { asError } from '#api/kit/errno.ts';
import { sandboxName } from '../config/names.ts';
import type { DockerContext } from '../context.ts';

/** Called when the records are current. */
export async function collectLeftovers(context: DockerContext): Promise<void> {
  const { files, mirror, networks, node, log } = context;
  const known = await files.keys();
  const used = new Set(
    mirror
      .sandboxes()
      .flatMap(({ note }) =>
        note.config.metadata === undefined ? [] : [sandboxName(node, note.config.metadata)],
      ),
  );
  for (const key of known.filter((one) => !used.has(one) && !context.creating.has(one))) {
    try {
      const checkpoint = await files.read(key);
      if (checkpoint !== undefined) {
        await networks.tearDown({ id: checkpoint.id, config: checkpoint.config, namespace: '' });
      }
      await files.remove(key);
      log.info({ sandbox: key }, 'Leftover sandbox released');
    } catch (thrown) {
      log.warn({ err: asError(thrown), sandbox: key }, 'Failed to release leftover sandbox');
    }
  }
}
