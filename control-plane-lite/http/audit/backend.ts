/** Contract of audit backends, and what they have in common: modes, batches and truncation. */

import { type Clock } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { type BatchOptions, createBatches } from './batches.ts';

export interface AuditEvent {
  /** The event as one line of JSON, without the newline. */
  readonly line: string;
  /** The same without bodies, marked as truncated. */
  truncated(): string;
  /** One line of text in the format of upstream's first releases. */
  legacy(): string;
}

export interface AuditBackend {
  /** As in metrics. */
  readonly name: 'log' | 'webhook';
  /** Whether a request fails if its first event is lost. */
  readonly isStrict: boolean;
  /** Returns whether the event was accepted; a promise if requests wait for the result. */
  process(event: AuditEvent): boolean | Promise<boolean>;
  /** Resolves once everything has been sent. */
  close(): Promise<void>;
}

export type AuditMode = 'batch' | 'blocking' | 'blocking-strict';

export interface Truncation {
  readonly maxBatchBytes: number;
  readonly maxEventBytes: number;
}

export interface BackendOptions {
  readonly mode: AuditMode;
  readonly batch: BatchOptions;
  /** Absent: nothing is truncated. */
  readonly truncation?: Truncation;
}

export interface BackendDeps {
  readonly clock: Clock;
  readonly name: AuditBackend['name'];
  /** Returns the event in the backend's format. */
  readonly format: (event: AuditEvent) => string;
  /** @throws Error if the events were not delivered */
  readonly send: (lines: readonly string[]) => Promise<void>;
  readonly onLost: (error: Error, count: number) => void;
  readonly close: () => Promise<void>;
}

/** Returns the line to send; `undefined` if even the truncated one is too long. Pure. */
function fitEvent(
  event: AuditEvent,
  format: BackendDeps['format'],
  truncation: Truncation | undefined,
): string | undefined {
  const line = format(event);
  const limit = truncation?.maxEventBytes ?? Number.POSITIVE_INFINITY;
  if (Buffer.byteLength(line) <= limit) return line;
  const short = event.truncated();
  return Buffer.byteLength(short) <= limit ? short : undefined;
}

/** Splits lines into batches of at most `maxBytes`; a longer line is a batch of its own. Pure. */
function splitBatch(lines: readonly string[], maxBytes: number): readonly (readonly string[])[] {
  const batches: string[][] = [];
  let bytes = 0;
  for (const line of lines) {
    const size = Buffer.byteLength(line);
    const last = batches.at(-1);
    if (last === undefined || bytes + size > maxBytes) {
      batches.push([line]);
      bytes = size;
    } else {
      last.push(line);
      bytes += size;
    }
  }
  return batches;
}

export function createBackend(deps: BackendDeps, options: BackendOptions): AuditBackend {
  const { mode, truncation } = options;
  const { name, format, onLost } = deps;
  const isStrict = mode === 'blocking-strict';
  const fit = (event: AuditEvent): string | undefined => fitEvent(event, format, truncation);

  async function send(lines: readonly string[]): Promise<void> {
    const batches = truncation === undefined ? [lines] : splitBatch(lines, truncation.maxBatchBytes);
    for (const batch of batches) await deps.send(batch);
  }

  if (mode === 'batch') {
    const batches = createBatches({ clock: deps.clock, send, onLost }, options.batch);
    return {
      name,
      isStrict,
      process(event) {
        const line = fit(event);
        return line !== undefined && batches.add(line);
      },
      async close() {
        await batches.close();
        await deps.close();
      },
    };
  }

  async function sendNow(line: string): Promise<boolean> {
    try {
      await send([line]);
      return true;
    } catch (thrown) {
      onLost(asError(thrown), 0);
      return false;
    }
  }

  return {
    name,
    isStrict,
    process(event) {
      const line = fit(event);
      return line === undefined ? false : sendNow(line);
    },
    close: () => deps.close(),
  };
}
