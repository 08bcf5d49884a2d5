/** `nodeagent complete`: candidates for the completion scripts. Not listed in the help. */
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { COMMANDS } from './commands.ts';
import { decideCompletion } from './completion/complete.ts';
import { fetchCandidates } from './completion/values.ts';
import { splitWords } from './completion/words.ts';
import { openImageRuntime } from './images/image-runtime.ts';
import { printable } from './views/table.ts';

export const command: Command = defineCommand({
  name: 'complete',
  summary: 'Prints what completes a command line, for completion scripts.',
  usage: ['LINE'],
  options: {},
  examples: [],
  async run(args, context) {
    const { api, out } = context;
    const words = splitWords(args.positionals[0] ?? '');
    const entry = COMMANDS.find(({ name }) => name === words.before[0]);
    const used =
      entry === undefined ? undefined : { ...entry, options: (await entry.load()).command.help.options };
    const completion = decideCompletion(words, COMMANDS, helpOf(words.before[0]) ?? used);
    if (completion.kind === 'values' && completion.source === 'files') {
      await out.write(':files\n');
      return 0;
    }
    const candidates =
      completion.kind === 'fixed'
        ? completion.candidates
        : (await fetchCandidates(api, () => imageNames(context), completion)).filter(({ text }) =>
            text.startsWith(words.current),
          );
    const lines = candidates.map(
      ({ text, description }) => `${printable(text)}\t${printable(description)}\n`,
    );
    await out.write(lines.join(''));
    return 0;
  },
});

const helpOf = (name: string | undefined) =>
  name === 'help' ? { name, summary: 'show help', options: {} } : undefined;

async function imageNames(context: CommandContext): Promise<readonly string[]> {
  await using runtime = await openImageRuntime(undefined, context);
  const { images } = await runtime.connection.images.listImages({}, { signal: context.signal });
  return images.flatMap(({ repoTags }) => repoTags);
}
