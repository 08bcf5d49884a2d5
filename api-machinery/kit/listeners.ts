/** Listener sets with one rule: a listener that throws is reported, and the others are called
 *  nevertheless. The owner of the process logs the reports (`logListenerFailures`). */
import { channel } from 'node:diagnostics_channel';
import { asError } from './errno.ts';
import type { Logger } from './logger.ts';

export interface Listeners<Args extends readonly unknown[] = []> {
  readonly size: number;
  /** Adds a listener, once. Returns the unsubscribe function. */
  add(listener: (...args: Args) => void): () => void;
  delete(listener: (...args: Args) => void): void;
  clear(): void;
  /** Calls every listener in the order of registration. Never throws. */
  notify(...args: Args): void;
}

export interface ListenerFailure {
  /** Name of the observed subject. */
  readonly listenersOf: string;
  readonly error: Error;
}

const FAILURES = 'nodeagent:listener-failed';

function report(listenersOf: string, thrown: unknown): void {
  const failures = channel(FAILURES);
  const error = asError(thrown);
  const failure: ListenerFailure = { listenersOf, error };
  if (failures.hasSubscribers) failures.publish(failure);
  else process.emitWarning(error);
}

/** Calls one listener. Never throws. */
export function callListener<Args extends readonly unknown[]>(
  listenersOf: string,
  listener: (...args: Args) => void,
  ...args: Args
): void {
  try {
    listener(...args);
  } catch (thrown) {
    report(listenersOf, thrown);
  }
}

/** @param listenersOf observed subject, for the log: `node pressure` */
export function createListeners<Args extends readonly unknown[] = []>(listenersOf: string): Listeners<Args> {
  const all = new Set<(...args: Args) => void>();
  return {
    get size() {
      return all.size;
    },
    add(listener) {
      all.add(listener);
      return () => void all.delete(listener);
    },
    delete: (listener) => void all.delete(listener),
    clear: () => all.clear(),
    notify(...args) {
      for (const listener of all) callListener(listenersOf, listener, ...args);
    },
  };
}

const isFailure = (message: unknown): message is ListenerFailure =>
  typeof message === 'object' && message !== null && 'error' in message && 'listenersOf' in message;

/** Logs throwing listeners of the whole process. Returns a function that stops this. */
export function logListenerFailures(log: Pick<Logger, 'error'>): () => void {
  const failures = channel(FAILURES);
  const onFailure = (message: unknown): void => {
    if (isFailure(message)) {
      log.error({ err: message.error, listenersOf: message.listenersOf }, 'Listener failed');
    }
  };
  failures.subscribe(onFailure);
  return () => failures.unsubscribe(onFailure);
}
