/** Events as rows of a table. Pure. */
import type { Event } from '#api/gen/core-v1.ts';
import { formatSince } from '../args/duration.ts';

export const EVENT_HEADINGS: readonly string[] = ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'];

export function eventRow(event: Event, nowMs: number): readonly string[] {
  const { involvedObject, type = '', reason = '', message = '' } = event;
  return [
    eventAge(event, nowMs),
    type,
    reason,
    `${involvedObject.kind ?? ''}/${involvedObject.name ?? ''}`,
    message,
  ];
}

/** Formats `3s`, or `3s (x4 over 2m)` for a repeated event. */
export function eventAge(event: Event, nowMs: number): string {
  const last = formatSince(event.lastTimestamp ?? event.eventTime ?? event.firstTimestamp, nowMs);
  const { count = 1 } = event;
  return count > 1 ? `${last} (x${count} over ${formatSince(event.firstTimestamp, nowMs)})` : last;
}
