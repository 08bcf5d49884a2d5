/** `nodeagent rmi` */
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { ENDPOINT_OPTION, openImageRuntime } from '../images/image-runtime.ts';
import { printable } from '../views/table.ts';

export const command: Command = defineCommand({
  name: 'rmi',
  summary: 'Removes images. One that a container uses stays.',
  usage: ['IMAGE… [options]'],
  options: {
    ...ENDPOINT_OPTION,
    force: {
      type: 'boolean',
      help: 'also remove images of containers; they keep running, but may not start again',
    },
  },
  examples: [['rmi registry.example.com/web:1', 'remove one image']],
  async run(args, context) {
    if (args.positionals.length === 0) throw new UsageError('rmi requires an IMAGE');
    const { out, err, signal } = context;
    await using runtime = await openImageRuntime(args.text('endpoint'), context);
    const { images, runtime: service } = runtime.connection;
    const { containers } = await service.listContainers({}, { signal });
    let allGood = true;
    for (const name of args.positionals) {
      const { image } = await images.imageStatus({ image: { image: name } }, { signal });
      const users = containers.filter(({ imageRef }) => imageRef === image?.id);
      const why =
        image === undefined || image.id === ''
          ? 'not found'
          : users.length > 0 && !args.has('force')
            ? `used by container ${users.map(({ metadata }) => metadata?.name ?? '').join(', ')}`
            : undefined;
      if (why === undefined) {
        await images.removeImage({ image: { image: name } }, { signal });
        await out.write(`${printable(name)} removed\n`);
      } else {
        allGood = false;
        await err.write(`${printable(`${name}: ${why}`)}\n`);
      }
    }
    return allGood ? 0 : 1;
  },
});
