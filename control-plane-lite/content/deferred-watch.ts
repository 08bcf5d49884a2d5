/** Watch with asynchronous conversion: the cache creates events of the stored objects, and on their way to
 *  the client each is converted to the requested version, in order. */

import { parseJsonText } from '#api/codec/json-text.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { ByteSink, WatchEventType } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { convertObjects, plainSource } from './source.ts';
import { jsonEvent, type WatchForm } from './watch-encoder.ts';

const NEWLINE = 0x0a;

/** An event in the cache encoder's format: a line of JSON. */
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

/** `form` is the client's requested format. */
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

/** Maximum bytes of events that wait for their conversion. Beyond it the watch ends, and the client may
 *  restart it. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
/** Number of events converted per batch. */
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
      if (waiting > MAX_WAITING_BYTES && !failed)
        fail(new Error('conversion is slower than the rate of changes'));
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
    initialized: () => void work.then(() => sink.initialized?.()),
    // A long initial state continues once its converted events are on their way.
    drained: () => work.then(() => sink.drained?.()),
  };
}
