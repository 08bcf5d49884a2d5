/** Follows the events of the agent. */
import type { Event } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { readJsonLines } from '../client/json-lines.ts';
import { type EventQuery, readEvent } from '../client/responses.ts';
import type { CommandContext } from '../command.ts';
import { EVENT_HEADINGS, eventRow } from '../views/event-rows.ts';
import { columnWidths, formatRow } from '../views/table.ts';

/** Default column widths for rows that are printed one by one. */
const USUAL_ROW = ['10m30s', 'Warning', 'FailedCreatePodSandBox', 'Pod/a-pod-of-usual-length'];

/** Yields the events so far and each new one until the signal fires.
 *  @throws AgentUnreachableError, ApiError */
export async function* followEvents(
  { api, signal }: Pick<CommandContext, 'api' | 'signal'>,
  query: EventQuery,
  isWanted: (event: Event) => boolean,
): AsyncGenerator<Event> {
  const stream = await api.stream({ path: ['events'], query: { ...query, watch: 'true' }, signal });
  for await (const value of readJsonLines(stream)) {
    const event: Event | undefined = isObject(value) ? readEvent(value['object']) : undefined;
    if (event !== undefined && isWanted(event)) yield event;
  }
}

export async function printEventTable(
  { out, clock }: Pick<CommandContext, 'out' | 'clock'>,
  events: AsyncIterable<Event>,
  headings: boolean,
): Promise<void> {
  const widths = columnWidths([EVENT_HEADINGS, USUAL_ROW]);
  if (headings) await out.write(formatRow(EVENT_HEADINGS, widths));
  for await (const event of events) await out.write(formatRow(eventRow(event, clock.now()), widths));
}
