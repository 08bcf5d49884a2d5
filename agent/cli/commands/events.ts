/** `nodeagent events` */

import { type EventQuery, fetchEvents, fetchPods } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import { followEvents, printEventTable } from '../listing/watch-events.ts';
import { cellPainter } from '../output/colors.ts';
import { OUTPUT_HELP, parseOutputFormat } from '../output/output-format.ts';
import { printObjects } from '../output/print.ts';
import { createSelector } from '../output/select.ts';
import { EVENT_HEADINGS, eventRow } from '../views/event-rows.ts';
import { formatTable } from '../views/table.ts';

export const command: Command = defineCommand({
  name: 'events',
  summary: 'Lists the events of this node, the latest last.',
  usage: ['[options]', '--for POD [options]'],
  options: {
    for: { type: 'string', value: 'POD', help: 'only events of this pod' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only events of this namespace' },
    'field-selector': {
      type: 'string',
      value: 'SELECTOR',
      help: 'only events with these fields: type=Warning,reason=Failed',
    },
    output: { type: 'string', short: 'o', value: 'FORMAT', help: OUTPUT_HELP },
    watch: { type: 'boolean', short: 'w', help: 'follow new events' },
    'no-headers': { type: 'boolean', help: 'omit the headings' },
  },
  examples: [
    ['events', 'list the events of all pods'],
    ['events -w --for web', 'follow the events of one pod'],
  ],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('events takes no arguments; use --for POD');
    const query = await eventQuery(args.text('for'), args.text('namespace'), context);
    const format = parseOutputFormat(args.text('output'));
    const isSelected = createSelector('Event', { labels: undefined, fields: args.text('field-selector') });
    const { out, api, clock } = context;
    const headings = !args.has('no-headers');
    if (args.has('watch')) {
      const events = followEvents(context, query, isSelected);
      if (format.kind === 'table') await printEventTable(context, events, headings);
      else
        for await (const event of events)
          await printObjects(out, format, [event], { single: true, headings });
      return 0;
    }
    const found = (await fetchEvents(api, query)).filter(isSelected);
    if (format.kind !== 'table') {
      await printObjects(out, format, found, { single: false, headings });
      return 0;
    }
    const rows = found.map((event) => eventRow(event, clock.now()));
    const table = formatTable(EVENT_HEADINGS, rows, cellPainter(context));
    if (rows.length === 0) await out.write('no events\n');
    else await out.write(headings ? table : table.slice(table.indexOf('\n') + 1));
    return 0;
  },
});

/** A deleted pod still has events, so a name that is not found is used as given. */
async function eventQuery(
  podText: string | undefined,
  namespace: string | undefined,
  { api }: CommandContext,
): Promise<EventQuery> {
  if (podText === undefined) return { namespace };
  const text = podText.replace(/^pods?\//i, '');
  const wanted = parsePodName(text, namespace);
  const pods = await fetchPods(api);
  const name = nameOrItself(() => findPod(pods, wanted).metadata?.name, wanted.name);
  return { kind: 'Pod', namespace: wanted.namespace, name };
}

function nameOrItself(find: () => string | undefined, name: string): string {
  try {
    return find() ?? name;
  } catch {
    return name;
  }
}
