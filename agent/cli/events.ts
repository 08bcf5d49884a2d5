/** `nodeagent events` */
import type { Event } from '#api/schema/gen/core-v1.ts';
import { type EventQuery, fetchEvents, fetchPods, isPlainObject, readEvent } from './answers.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';
import { UsageError } from './errors.ts';
import { EVENT_HEADINGS, eventRow } from './event-rows.ts';
import { findPod, parsePodName } from './find-pod.ts';
import { readJsonLines } from './json-lines.ts';
import { columnWidths, formatRow, formatTable } from './table.ts';

/** A row of usual widths, for lines that come one by one. */
const USUAL_ROW = ['10m30s', 'Warning', 'FailedCreatePodSandBox', 'Pod/a-pod-of-usual-length'];

export const command: Command = defineCommand({
  name: 'events',
  summary: 'Tells what happened on this node, the latest last.',
  usage: ['[options]', '--for POD [options]'],
  options: {
    for: { type: 'string', value: 'POD', help: 'only events of this pod' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only events of this namespace' },
    watch: { type: 'boolean', short: 'w', help: 'go on with new ones as they happen' },
  },
  examples: [
    ['events', 'what happened'],
    ['events -w --for web', 'what happens to one pod, live'],
  ],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('events takes no names; use --for POD');
    const query = await eventQuery(args.text('for'), args.text('namespace'), context);
    if (args.has('watch')) {
      await watchEvents(query, context);
      return 0;
    }
    const { out, api, clock } = context;
    const rows = (await fetchEvents(api, query)).map((event) => eventRow(event, clock.now()));
    await out.write(rows.length === 0 ? 'no events\n' : formatTable(EVENT_HEADINGS, rows));
    return 0;
  },
});

/** A pod that is gone by now still has its events, so a name that is not found is taken as it is. */
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

async function watchEvents(query: EventQuery, { api, out, clock, signal }: CommandContext): Promise<void> {
  const widths = columnWidths([EVENT_HEADINGS, USUAL_ROW]);
  await out.write(formatRow(EVENT_HEADINGS, widths));
  const stream = await api.stream({ path: ['events'], query: { ...query, watch: 'true' }, signal });
  for await (const value of readJsonLines(stream)) {
    const event: Event | undefined = isPlainObject(value) ? readEvent(value['object']) : undefined;
    if (event !== undefined) await out.write(formatRow(eventRow(event, clock.now()), widths));
  }
}
