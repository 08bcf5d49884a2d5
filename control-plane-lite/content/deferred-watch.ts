/** A watch of objects whose conversion has to be waited for: the cache makes events of the stored objects, and on
 *  their way to the client each gets the form that was asked for, in order, one after the other. */

import { StatusError } from '#api/meta/status-error.ts';
import type { ByteSink, WatchEventType } from '../cache/contract.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { convertObject, plainSource } from './source.ts';
import { jsonEvent, type WatchForm } from './watch-encoder.ts';

/** Whether objects are converted elsewhere. Conversions of built-in kinds are functions of ours. */
export const takesTime = ({ conversion, schema }: Resource): boolean =>
  conversion !== undefined && schema.typeRef === undefined;

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
    yield JSON.parse(bytes.toString('utf8', at, end)) as StoredEvent;
    at = end + 1;
  }
}

export interface DeferredForm extends WatchForm {
  pass(sink: ByteSink): ByteSink;
}

/** `form` is what the client asked for. */
export function createDeferredForm(resource: Resource, form: WatchForm): DeferredForm {
  async function convert(event: StoredEvent): Promise<Buffer> {
    if (event.type === 'BOOKMARK') return form.encoder.bookmark(event.revision, event.initialEnd);
    return form.event(event.type, plainSource(await convertObject(resource, event.object)));
  }
  return {
    ...form,
    encoder: {
      id: `stored ${form.encoder.id}`,
      encode: (type, cached) => jsonEvent(type, cached.json),
      bookmark: (revision, initialEnd) =>
        Buffer.from(`${JSON.stringify({ type: 'BOOKMARK', revision, initialEnd })}\n`),
    },
    pass: (sink) => createConvertingSink(sink, convert, (status) => form.error(status)),
  };
}

function createConvertingSink(
  sink: ByteSink,
  convert: (event: StoredEvent) => Promise<Buffer>,
  errorEvent: (status: object) => Buffer,
): ByteSink {
  let work: Promise<void> = Promise.resolve();
  let failed = false;

  async function pass(bytes: Buffer): Promise<void> {
    for (const event of eventsOf(bytes)) {
      if (failed) return;
      sink.write(await convert(event));
    }
  }
  function fail(error: unknown): void {
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
      work = work.then(() => pass(bytes)).catch(fail);
    },
    end(reason) {
      work = finish(work, reason);
    },
    // A long start goes on when what came of it is on its way.
    drained: () => work.then(() => sink.drained?.()),
  };
}
