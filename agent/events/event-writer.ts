/** Writes one event to the API server: creates a new one, patches a repeated one. */
import type { Event } from '#api/gen/core-v1.ts';
import type { ApiClient } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';

/** @throws errors of the client */
export type EventWriter = (event: Event, signal: AbortSignal) => Promise<void>;

/** Maximum number of events known to exist on the server. */
const MOST_KNOWN = 4096;

const hasStatus = (thrown: unknown, status: number): boolean =>
  thrown instanceof ApiRequestError && thrown.status === status;

/** Returns the unique key of an event. */
export const eventKey = ({ metadata }: Event): string => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

export function createEventWriter(client: Pick<ApiClient, 'create' | 'patch'>): EventWriter {
  const onServer = new Set<string>();

  function remember(key: string): void {
    onServer.add(key);
    const oldest = onServer.keys().next();
    if (onServer.size > MOST_KNOWN && oldest.done !== true) onServer.delete(oldest.value);
  }

  async function repeat(
    { metadata, count, message, lastTimestamp }: Event,
    signal: AbortSignal,
  ): Promise<void> {
    const { namespace = '', name = '' } = metadata;
    const content = { count, message, lastTimestamp };
    const address = { apiVersion: 'v1', resource: 'events', namespace, name };
    await client.patch(address, { type: 'strategic', content }, signal);
  }

  async function create(event: Event, signal: AbortSignal): Promise<void> {
    const { namespace = '' } = event.metadata;
    try {
      await client.create({ apiVersion: 'v1', resource: 'events', namespace }, { ...event }, signal);
    } catch (thrown) {
      // The response to an earlier attempt was lost.
      if (!hasStatus(thrown, 409)) throw thrown;
      await repeat(event, signal);
    }
    remember(eventKey(event));
  }

  return async (event, signal) => {
    if (!onServer.has(eventKey(event))) return await create(event, signal);
    try {
      await repeat(event, signal);
    } catch (thrown) {
      // It has expired there.
      if (!hasStatus(thrown, 404)) throw thrown;
      await create(event, signal);
    }
  };
}
