/** `nodeagent events` */

import type { Event } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { readJsonLines } from '../client/json-lines.ts';
import { type EventQuery, fetchEvents, fetchPods, readEvent } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { UsageError } from '../errors.ts';
import { EVENT_HEADINGS, eventRow } from '../views/event-rows.ts';
import { columnWidths, formatRow, formatTable } from '../views/table.ts';
import { findPod, parsePodName } from './find-pod.ts';

/** Default column widths for rows that are printed one by one. */
const USUAL_ROW = ['10m30s', 'Warning', 'FailedCreatePodSandBox', 'Pod/a-pod-of-usual-length'];

export const command: Command = defineCommand({
  name: 'events',
  summary: 'Lists the events of this node, the latest last.',
  usage: ['[options]', '--for POD [options]'],
  options: {
    for: { type: 'string', value: 'POD', help: 'only events of this pod' },
    namespace: { type: 'string', short: 'n', value: 'NAME', help: 'only events of this namespace' },
    watch: { type: 'boolean', short: 'w', help: 'follow new events' },
  },
  examples: [
    ['events', 'list the events of all pods'],
    ['events -w --for web', 'follow the events of one pod'],
  ],
  async run(args, context) {
    if (args.positionals.length > 0) throw new UsageError('events takes no arguments; use --for POD');
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

async function watchEvents(query: EventQuery, { api, out, clock, signal }: CommandContext): Promise<void> {
  const widths = columnWidths([EVENT_HEADINGS, USUAL_ROW]);
  await out.write(formatRow(EVENT_HEADINGS, widths));
  const stream = await api.stream({ path: ['events'], query: { ...query, watch: 'true' }, signal });
  for await (const value of readJsonLines(stream)) {
    const event: Event | undefined = isObject(value) ? readEvent(value['object']) : undefined;
    if (event !== undefined) await out.write(formatRow(eventRow(event, clock.now()), widths));
  }
}
