/** `nodeagent validate` */
import { formatFieldError } from '#api/meta/field-error.ts';
import { parseChoice } from '../args/arguments.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { readObjects, vocabularyOf } from '../manifests/objects.ts';
import { MANIFEST_OPTIONS, readManifests, selectionOf } from '../manifests/read.ts';
import { printable } from '../views/table.ts';

export const command: Command = defineCommand({
  name: 'validate',
  summary:
    'Checks manifests as the agent does, without an agent and without running anything. Exits with 1 if one is invalid.',
  usage: ['FILE|DIRECTORY|URL|-… [options]'],
  options: {
    ...MANIFEST_OPTIONS,
    vocabulary: {
      type: 'string',
      value: 'NAME',
      help: 'plat or kubernetes, as the flag of the agent (plat)',
    },
    quiet: { type: 'boolean', short: 'q', help: 'print only errors' },
  },
  examples: [
    ['validate web.yaml', 'check one file before you install it'],
    ['validate -R manifests', 'check every manifest below a directory'],
  ],
  async run(args, context) {
    const { clock, signal, out, err } = context;
    const selection = selectionOf(args, args.positionals);
    if (selection.names.length === 0) throw new UsageError('validate requires a FILE');
    const name = args.text('vocabulary');
    const vocabulary = vocabularyOf(
      name === undefined ? undefined : parseChoice('--vocabulary', name, ['plat', 'kubernetes']),
    );
    let isValid = true;
    for await (const manifest of readManifests(selection, context)) {
      const objects = await readObjects(manifest, vocabulary, { signal, nowMs: clock.now() });
      if (objects.length === 0) {
        isValid = false;
        await err.write(`${printable(manifest.name)} contains no objects\n`);
      }
      for (const { place, identity, errors } of objects) {
        isValid &&= errors.length === 0;
        const line = printable(`${place}: ${identity}`);
        const lines = errors.map((error) => `  ${printable(formatFieldError(error))}\n`);
        if (errors.length > 0) await err.write(`${line} invalid\n${lines.join('')}`);
        else if (!args.has('quiet')) await out.write(`${line} valid\n`);
      }
    }
    return isValid ? 0 : 1;
  },
});
