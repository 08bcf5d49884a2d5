/** `nodeagent get` */
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { fetchListed, type Listed } from '../listing/lists.ts';
import { LIST_OPTIONS, type ListOptions, readListOptions } from '../listing/options.ts';
import { type GetTarget, parseTargets } from '../listing/targets.ts';
import { watchListed } from '../listing/watch.ts';
import { cellPainter } from '../output/colors.ts';
import { printObjects } from '../output/print.ts';
import { formatTable, type PaintCell } from '../views/table.ts';

export const command: Command = defineCommand({
  name: 'get',
  summary:
    'Shows pods, events, configmaps, secrets (without their data), persistentvolumes, persistentvolumeclaims and endpoints.',
  usage: ['TYPE[,TYPE…] [NAME…] [options]', 'TYPE/NAME… [options]'],
  options: LIST_OPTIONS,
  examples: [
    ['get pod web -o yaml', 'the complete pod with its status'],
    ['get pods,configmaps -l app=web', 'objects of two types with a label'],
    [`get pods -o jsonpath='{range .items[*]}{.metadata.name}{"\\n"}{end}'`, 'names only, for scripts'],
    ['get pods -o custom-columns=NAME:.metadata.name,NODE:.spec.nodeName', 'a table of chosen fields'],
    ['get pods --sort-by .metadata.creationTimestamp', 'the newest pod last'],
  ],
  async run(args, context) {
    const targets = parseTargets(args.positionals);
    const options = readListOptions(args);
    checkSelectors(targets, options);
    if (options.watch) {
      await watchListed(targets, options, context);
      return 0;
    }
    const { api, clock } = context;
    const lists: Listed[] = [];
    for (const target of targets) lists.push(await fetchListed(api, target, options, clock.now()));
    await printLists(lists, targets, options, context);
    return 0;
  },
});

/** @throws UsageError */
function checkSelectors(targets: readonly GetTarget[], { selectors }: ListOptions): void {
  const isSelective = selectors.labels !== undefined || selectors.fields !== undefined;
  if (isSelective && targets.some(({ names }) => names.length > 0)) {
    throw new UsageError('use either names or a selector');
  }
}

async function printLists(
  lists: readonly Listed[],
  targets: readonly GetTarget[],
  { format, headings }: ListOptions,
  context: CommandContext,
): Promise<void> {
  const { out } = context;
  if (format.kind !== 'table') {
    const objects = lists.flatMap((list) => list.objects);
    const single = targets.length === 1 && targets[0]?.names.length === 1;
    await printObjects(out, format, objects, { single, headings });
    return;
  }
  // Empty lists are not worth a line beside others.
  const shown = lists.filter(({ rows }) => rows.length > 0);
  if (shown.length === 0) {
    await out.write(lists.map(({ kind }) => emptyText(kind)).join(''));
    return;
  }
  const several = lists.length > 1;
  const paint = cellPainter(context);
  await out.write(shown.map((list) => tableText(list, { several, headings, paint })).join('\n'));
}

const EMPTY: Readonly<Record<string, string>> = { Pod: 'no pods\n', Event: 'no events\n' };
const emptyText = (kind: string): string => EMPTY[kind] ?? `no ${kind} objects\n`;

interface TableOptions {
  /** Several types are shown: names have the type in front. */
  readonly several: boolean;
  readonly headings: boolean;
  readonly paint: PaintCell | undefined;
}

function tableText({ kind, headings, rows }: Listed, options: TableOptions): string {
  const column = headings.indexOf('NAME');
  const cells =
    options.several && column >= 0
      ? rows.map((row) => row.with(column, `${kind.toLowerCase()}/${row[column] ?? ''}`))
      : rows;
  const table = formatTable(headings, cells, options.paint);
  return options.headings ? table : table.slice(table.indexOf('\n') + 1);
}
