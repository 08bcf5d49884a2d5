/** `nodeagent images` */
import type { Image } from '#cri/gen/cri-v1.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { ENDPOINT_OPTION, openImageRuntime } from '../images/image-runtime.ts';
import { DATA_HELP, parseDataFormat } from '../output/output-format.ts';
import { printData } from '../output/print.ts';
import { formatTable } from '../views/table.ts';
import { formatBytes } from '../views/top-view.ts';

export const command: Command = defineCommand({
  name: 'images',
  summary: 'Lists the images of the runtime.',
  usage: ['[options]'],
  options: {
    ...ENDPOINT_OPTION,
    output: { type: 'string', short: 'o', value: 'FORMAT', help: DATA_HELP },
    quiet: { type: 'boolean', short: 'q', help: 'print only the IDs' },
  },
  examples: [
    ['images', 'all images with their sizes'],
    [`images -o jsonpath='{.images[*].repoTags[*]}'`, 'only the names'],
  ],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('images takes no arguments');
    const format = parseDataFormat(args.text('output'));
    await using runtime = await openImageRuntime(args.text('endpoint'), context);
    const { images } = await runtime.connection.images.listImages({}, { signal: context.signal });
    const { out } = context;
    if (format !== undefined) await printData(out, format, { images: images.map(shownImage) });
    else if (args.has('quiet')) await out.write(images.map(({ id }) => `${id}\n`).join(''));
    else
      await out.write(
        formatTable(['IMAGE', 'ID', 'SIZE', 'PINNED'], images.flatMap(imageRows).toSorted(byName)),
      );
    return 0;
  },
});

const byName = ([left = '']: readonly string[], [right = '']: readonly string[]): number =>
  left < right ? -1 : Number(left > right);

const shownImage = ({ id, repoTags, repoDigests, size, pinned }: Image): object => ({
  id,
  repoTags,
  repoDigests,
  sizeBytes: Number(size),
  pinned,
});

/** Returns a row for each name. */
function imageRows({ id, repoTags, repoDigests, size, pinned }: Image): readonly (readonly string[])[] {
  const names = repoTags.length > 0 ? repoTags : repoDigests.slice(0, 1);
  const short = id.replace(/^sha256:/, '').slice(0, 13);
  return (names.length > 0 ? names : ['<none>']).map((name) => [
    name,
    short,
    formatBytes(Number(size)),
    pinned ? 'yes' : '',
  ]);
}
