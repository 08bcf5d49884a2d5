/** `nodeagent load` */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { createContainerdClient } from '../../runtime/managed/ctr.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { ENDPOINT_OPTION, openImageRuntime, socketPathOf } from '../images/image-runtime.ts';
import { startProgress } from '../images/progress.ts';
import { printable } from '../views/table.ts';

export const command: Command = defineCommand({
  name: 'load',
  summary: 'Loads images from archives of docker, podman or nodeagent save into containerd.',
  usage: ['FILE…|- [options]'],
  options: ENDPOINT_OPTION,
  examples: [
    ['load web.tar', 'from a file, compressed or not'],
    ['load - < web.tar', 'from standard input'],
  ],
  async run(args, context) {
    if (args.positionals.length === 0) throw new UsageError('load requires a FILE, or - for standard input');
    await using runtime = await openImageRuntime(args.text('endpoint'), context);
    const { signal, out } = context;
    const ctr = await createContainerdClient({ socketPath: socketPathOf(runtime.endpoint), signal });
    for (const name of args.positionals) {
      const { stream, sizeBytes } = await openArchive(name, context);
      await using progress = startProgress(context, `loading ${name}`, sizeBytes);
      const images = await ctr.importStream(progress.count(stream));
      if (images.length === 0) throw new CommandError(`${name} contains no images`);
      for (const image of images) await out.write(`${printable(image)} loaded\n`);
    }
    return 0;
  },
});

interface Archive {
  readonly stream: AsyncIterable<Uint8Array>;
  readonly sizeBytes: number | undefined;
}

/** @throws CommandError */
async function openArchive(name: string, { input, cwd }: CommandContext): Promise<Archive> {
  if (name === '-') return { stream: input.read(), sizeBytes: undefined };
  const path = resolve(cwd, name);
  try {
    const { size } = await stat(path);
    return { stream: chunksOf(path), sizeBytes: size };
  } catch (cause) {
    throw new CommandError(`cannot read ${name}`, { cause });
  }
}

async function* chunksOf(path: string): AsyncGenerator<Uint8Array> {
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    if (chunk instanceof Uint8Array) yield chunk;
  }
}
