/** `nodeagent apply` */
import { parseChoice } from '../args/arguments.ts';
import { type Command, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { type ApplyMode, applyText } from '../manifests/apply-text.ts';
import { nameKey } from '../manifests/objects.ts';
import { prune } from '../manifests/prune.ts';
import { MANIFEST_OPTIONS, readManifests, selectionOf } from '../manifests/read.ts';

const DRY_RUNS = ['client', 'server', 'none'] as const;

export const command: Command = defineCommand({
  name: 'apply',
  summary:
    'Creates or updates pods and configuration objects from manifests. They persist across restarts of the agent.',
  usage: ['-f FILE|DIRECTORY|URL|- [options]'],
  options: {
    ...MANIFEST_OPTIONS,
    'dry-run': {
      type: 'string',
      value: 'MODE',
      help: 'client: only validate, without the agent; server: let the agent check, without changes',
    },
    prune: {
      type: 'boolean',
      help: 'delete applied objects that the manifests do not contain; with -l or --all',
    },
    selector: {
      type: 'string',
      short: 'l',
      value: 'SELECTOR',
      help: 'with --prune: only objects with these labels',
    },
    all: { type: 'boolean', help: 'with --prune: all applied objects' },
  },
  examples: [
    ['apply -f web.yaml', 'one file, with one or more documents'],
    ['apply -f - < web.yaml', 'from standard input'],
    ['apply -f https://example.com/web.yaml --dry-run=server', 'check a manifest of a web server'],
    ['apply -f site --prune -l site=main', 'exactly the objects of a directory, among those with a label'],
  ],
  async run(args, context) {
    const selection = selectionOf(args, args.positionals);
    if (args.texts('filename').length === 0) throw new UsageError('apply needs -f FILE');
    const mode = applyMode(args.text('dry-run'));
    const pruned = args.has('prune') ? pruneSelector(args.text('selector'), args.has('all')) : undefined;
    let allGood = true;
    const names = new Set<string>();
    for await (const manifest of readManifests(selection, context)) {
      const applied = await applyText(manifest, mode, context);
      allGood = applied.allGood && allGood;
      for (const name of applied.names) names.add(nameKey(name));
    }
    if (pruned === undefined) return allGood ? 0 : 1;
    if (!allGood) {
      await context.err.write('nothing is pruned, since a manifest was rejected\n');
      return 1;
    }
    await prune({ retained: names, selector: pruned.selector, mode }, context);
    return 0;
  },
});

function applyMode(text: string | undefined): ApplyMode {
  const choice = text === undefined ? 'none' : parseChoice('--dry-run', text, DRY_RUNS);
  return choice === 'none' ? 'apply' : choice;
}

/** @throws UsageError */
function pruneSelector(
  selector: string | undefined,
  all: boolean,
): { readonly selector: string | undefined } {
  if (all === (selector !== undefined)) {
    throw new UsageError('--prune requires either -l SELECTOR or --all');
  }
  return { selector };
}
