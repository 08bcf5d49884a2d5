/** A watch of objects whose conversion has to be waited for: the cache makes events of the stored objects, and on
 *  their way to the client each gets the form that was asked for, in order, one after the other. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ByteSink, WatchEventType } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { convertObjects, plainSource } from './source.ts';
import { jsonEvent, type WatchForm } from './watch-encoder.ts';

const NEWLINE = 0x0a;

/** One event as the cache's encoder makes it: a line of JSON. */
type StoredEvent =
  | { readonly type: WatchEventType; readonly object: ApiObject }
  | { readonly type: 'BOOKMARK'; readonly revision: number; readonly initialEnd: boolean };

function* eventsOf(bytes: Buffer): Generator<StoredEvent> {
  for (let at = 0; at < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, at);
    const end = newline < 0 ? bytes.length : newline;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- written by the encoder below
    yield parseJsonText(bytes.toString('utf8', at, end)) as StoredEvent;
    at = end + 1;
  }
}

export interface DeferredForm extends WatchForm {
  pass(sink: ByteSink): ByteSink;
}

/** `form` is what the client asked for. */
export function createDeferredForm(resource: Resource, form: WatchForm): DeferredForm {
  const roundSize = resource.conversion?.manyFromStorage === undefined ? 1 : MAX_ROUND;

  async function convert(events: readonly StoredEvent[]): Promise<readonly Buffer[]> {
    const stored = events.flatMap((event) => (event.type === 'BOOKMARK' ? [] : [event.object]));
    const converted = (await convertObjects(resource, stored)).values();
    return events.map((event) => {
      if (event.type === 'BOOKMARK') return form.encoder.bookmark(event.revision, event.initialEnd);
      const next = converted.next();
      return form.event(event.type, plainSource(next.done === true ? event.object : next.value));
    });
  }
  return {
    ...form,
    encoder: {
      id: `stored ${form.encoder.id}`,
      encode: (type, cached) => jsonEvent(type, cached.json),
      bookmark: (revision, initialEnd) =>
        Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', revision, initialEnd })}\n`),
    },
    pass: (sink) => createConvertingSink(sink, roundSize, convert, (status) => form.error(status)),
  };
}

/** Bytes of events that wait for their conversion. More of them end the watch, which may begin anew. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** Events that are converted together. */
const MAX_ROUND = 500;

function createConvertingSink(
  sink: ByteSink,
  roundSize: number,
  convert: (events: readonly StoredEvent[]) => Promise<readonly Buffer[]>,
  errorEvent: (status: object) => Buffer,
): ByteSink {
  let work: Promise<void> = Promise.resolve();
  let failed = false;
  let waiting = 0;
  const hasFailed = (): boolean => failed;

  async function pass(bytes: Buffer): Promise<void> {
    if (hasFailed()) return;
    const events = [...eventsOf(bytes)];
    for (let at = 0; at < events.length; at += roundSize) {
      const converted = await convert(events.slice(at, at + roundSize));
      if (hasFailed()) return;
      for (const event of converted) sink.write(event);
    }
  }
  function fail(error: unknown): void {
    if (failed) return;
    failed = true;
    const message = error instanceof Error ? error.message : String(error);
    const status = new StatusError('InternalError', `conversion failed: ${message}`, { cause: error });
    sink.write(errorEvent((error instanceof StatusError ? error : status).toStatus()));
    sink.end('unavailable');
  }
  async function finish(before: Promise<void>, reason: 'expired' | 'unavailable'): Promise<void> {
    await before;
    if (!failed) sink.end(reason);
  }
  return {
    write(bytes) {
      waiting += bytes.length;
      if (waiting > MAX_WAITING_BYTES && !failed) fail(new Error('conversion is slower than what changes'));
      work = work
        .then(() => pass(bytes))
        .catch(fail)
        .finally(() => {
          waiting -= bytes.length;
        });
    },
    end(reason) {
      work = finish(work, reason);
    },
    // A long start goes on when what came of it is on its way.
    drained: () => work.then(() => sink.drained?.()),
  };
}
