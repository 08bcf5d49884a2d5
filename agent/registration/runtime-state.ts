/** Status of the container runtime, polled every few seconds, since CRI has no event for it. A runtime that
 *  does not respond for a moment, as during its restart, does not count as down. Source: upstream's runtime
 *  state, 1.24. */

import { type Clock, sleep } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import { createListeners } from '#api/kit/listeners.ts';
import type { Logger } from '#api/kit/logger.ts';

export interface RuntimeReport {
  /** `containerd` */
  readonly name: string;
  readonly version: string;
  readonly conditions: readonly RuntimeReportCondition[];
}

export interface RuntimeReportCondition {
  /** `RuntimeReady`, `NetworkReady`. */
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

export interface RuntimeStateDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly read: (signal: AbortSignal) => Promise<RuntimeReport>;
}

export interface RuntimeState {
  /** Polls until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Polls once, now. Never rejects. */
  readonly poll: (signal: AbortSignal) => Promise<void>;
  /** Reasons why pods cannot run; empty when none is known. */
  readonly troubles: () => readonly string[];
  /** `containerd://1.6.20`; empty before the first response. */
  readonly version: () => string;
  /** Calls the listener at each change. Returns a function that unsubscribes. */
  readonly onChange: (listener: () => void) => () => void;
}

const PERIOD_MS = 5000;
const LONGEST_CALL_MS = 10_000;
/** Time without a response after which the runtime counts as down. */
const DOWN_AFTER_MS = 30_000;

const SUBJECTS: readonly { readonly type: string; readonly subject: string }[] = [
  { type: 'RuntimeReady', subject: 'container runtime' },
  { type: 'NetworkReady', subject: 'container runtime network' },
];

/** Returns the reasons in a report why pods cannot run. Pure. */
export function runtimeTroubles({ conditions }: RuntimeReport): readonly string[] {
  return SUBJECTS.flatMap(({ type, subject }) => {
    const condition = conditions.find((one) => one.type === type);
    if (condition === undefined) return [`${subject} not ready: ${type} is not reported`];
    const { status, reason, message } = condition;
    if (status) return [];
    return [`${subject} not ready: ${type}=false reason:${reason} message:${message}`];
  });
}

export function createRuntimeState({ clock, log, read }: RuntimeStateDeps): RuntimeState {
  let last: { readonly report: RuntimeReport; readonly atMs: number } | undefined;
  let notified = '';
  const listeners = createListeners('runtime state');

  function troubles(): readonly string[] {
    if (last === undefined) return ['container runtime status check may not have completed yet'];
    const silent = clock.monotonic() - last.atMs > DOWN_AFTER_MS;
    return silent ? ['container runtime is down'] : runtimeTroubles(last.report);
  }

  const version = (): string => (last === undefined ? '' : `${last.report.name}://${last.report.version}`);

  function notify(): void {
    const now = [version(), ...troubles()].join('\n');
    if (now === notified) return;
    notified = now;
    listeners.notify();
  }

  async function poll(signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const timer = clock.setTimer(
      () => late.abort(new Error('timed out waiting for the runtime status')),
      LONGEST_CALL_MS,
    );
    try {
      const report = await read(AbortSignal.any([signal, late.signal]));
      last = { report, atMs: clock.monotonic() };
    } catch (thrown) {
      if (!signal.aborted) log.debug({ err: asError(thrown) }, 'Failed to read runtime status');
    } finally {
      timer.cancel();
    }
    if (!signal.aborted) notify();
  }

  return {
    poll,
    troubles,
    version,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async run(signal) {
      while (!signal.aborted) {
        await poll(signal);
        await sleep(clock, PERIOD_MS, signal).catch(() => undefined);
      }
    },
  };
}
