/** What the container runtime says of itself, asked every few seconds: it has no event for it. A runtime that says
 *  nothing for a moment, as while it restarts, is not taken for a sick one. Source: upstream's runtime state, 1.24. */

import { asError, type Clock, sleep } from '#api/kit/clock.ts';
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
  /** Asks until the signal fires. Never rejects. */
  readonly run: (signal: AbortSignal) => Promise<void>;
  /** Asks once, now. Never rejects. */
  readonly look: (signal: AbortSignal) => Promise<void>;
  /** Why no pod can be run; empty when nothing is known against it. */
  readonly troubles: () => readonly string[];
  /** `containerd://1.6.20`; empty while nothing was heard. */
  readonly version: () => string;
  /** Calls the listener when any of it changed. Returns the function that ends this. */
  readonly onChange: (listener: () => void) => () => void;
}

const PERIOD_MS = 5000;
const LONGEST_CALL_MS = 10_000;
/** How long the runtime may be silent before it counts as down. */
const PATIENCE_MS = 30_000;

const SUBJECTS: readonly { readonly type: string; readonly subject: string }[] = [
  { type: 'RuntimeReady', subject: 'container runtime' },
  { type: 'NetworkReady', subject: 'container runtime network' },
];

/** Pure: what a report says against running pods. */
export function runtimeTroubles({ conditions }: RuntimeReport): readonly string[] {
  return SUBJECTS.flatMap(({ type, subject }) => {
    const condition = conditions.find((one) => one.type === type);
    if (condition === undefined) return [`${subject} not ready: ${type} is not told`];
    const { status, reason, message } = condition;
    if (status) return [];
    return [`${subject} not ready: ${type}=false reason:${reason} message:${message}`];
  });
}

export function createRuntimeState({ clock, log, read }: RuntimeStateDeps): RuntimeState {
  let last: { readonly report: RuntimeReport; readonly atMs: number } | undefined;
  let told = '';
  const listeners = createListeners('runtime state');

  function troubles(): readonly string[] {
    if (last === undefined) return ['container runtime status check may not have completed yet'];
    const silent = clock.monotonic() - last.atMs > PATIENCE_MS;
    return silent ? ['container runtime is down'] : runtimeTroubles(last.report);
  }

  const version = (): string => (last === undefined ? '' : `${last.report.name}://${last.report.version}`);

  function tell(): void {
    const now = [version(), ...troubles()].join('\n');
    if (now === told) return;
    told = now;
    listeners.notify();
  }

  async function look(signal: AbortSignal): Promise<void> {
    const late = new AbortController();
    const timer = clock.setTimer(
      () => late.abort(new Error('the runtime did not tell its state in time')),
      LONGEST_CALL_MS,
    );
    try {
      const report = await read(AbortSignal.any([signal, late.signal]));
      last = { report, atMs: clock.monotonic() };
    } catch (thrown) {
      if (!signal.aborted) log.debug({ err: asError(thrown) }, 'Runtime did not tell its state');
    } finally {
      timer.cancel();
    }
    if (!signal.aborted) tell();
  }

  return {
    look,
    troubles,
    version,
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    async run(signal) {
      while (!signal.aborted) {
        await look(signal);
        await sleep(clock, PERIOD_MS, signal).catch(() => undefined);
      }
    },
  };
}
