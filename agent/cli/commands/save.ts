/** `nodeagent save` */
import { open, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { formatNormalized, parseImageReference } from '../../images/reference.ts';
import { createContainerdClient } from '../../runtime/managed/ctr.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { ENDPOINT_OPTION, openImageRuntime, socketPathOf } from '../images/image-runtime.ts';
import { startProgress } from '../images/progress.ts';

export const command: Command = defineCommand({
  name: 'save',
  summary: 'Writes images of containerd to an archive that nodeagent load and docker load read.',
  usage: ['IMAGE… -o FILE [options]'],
  options: {
    ...ENDPOINT_OPTION,
    output: { type: 'string', short: 'o', value: 'FILE', help: 'archive to write; - for standard output' },
  },
  examples: [['save registry.example.com/web:2 -o web.tar', 'for a machine without a registry']],
  async run(args, context) {
    const file = args.text('output');
    if (args.positionals.length === 0 || file === undefined) {
      throw new UsageError('save requires an IMAGE and -o FILE');
    }
    await using runtime = await openImageRuntime(args.text('endpoint'), context);
    const { signal, out } = context;
    const ctr = await createContainerdClient({ socketPath: socketPathOf(runtime.endpoint), signal });
    const names = args.positionals.map((name) => formatNormalized(parseImageReference(name)));
    const archive = ctr.exportImages(names);
    if (file === '-') for await (const chunk of archive) await out.write(chunk);
    else await writeArchive(resolve(context.cwd, file), archive, context);
    return 0;
  },
});

/** The file appears complete or not at all. @throws CommandError */
async function writeArchive(
  path: string,
  archive: AsyncIterable<Uint8Array>,
  context: CommandContext,
): Promise<void> {
  const next = `${path}.${process.pid}.part`;
  try {
    await using progress = startProgress(context, `saving ${path}`);
    {
      await using target = await open(next, 'wx', 0o644).catch((cause: unknown) => {
        throw new CommandError(`cannot write ${path}`, { cause });
      });
      for await (const chunk of progress.count(archive)) await target.writeFile(chunk);
      await target.sync();
    }
    await rename(next, path);
  } finally {
    await rm(next, { force: true });
  }
}
