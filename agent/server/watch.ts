/** Pods and events as they change, one JSON object on each line, for clients that follow them. */
import type { Event, Pod } from '#api/schema/gen/core-v1.ts';

export interface PodWatchDeps {
  readonly list: () => readonly Pod[];
  /** Calls the listener whenever a pod may have changed. @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
}

const line = (type: string, object: object): Uint8Array =>
  Buffer.from(`${JSON.stringify({ type, object })}\n`);

/** Every pod as ADDED, a BOOKMARK, then what changes, until the signal fires. A client that is slow skips the
 *  states between. */
export async function* watchPods(
  { list, onChange }: PodWatchDeps,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const changes = createWaker(signal);
  const unsubscribe = onChange(changes.wake);
  const told = new Map<string, { readonly pod: Pod; readonly text: string }>();
  try {
    yield* podLines(told, list());
    yield line('BOOKMARK', {});
    while (await changes.next()) yield* podLines(told, list());
  } finally {
    unsubscribe();
  }
}

function* podLines(
  told: Map<string, { readonly pod: Pod; readonly text: string }>,
  pods: readonly Pod[],
): Generator<Uint8Array> {
  const uids = new Set(pods.map(uidOf));
  for (const [uid, { pod }] of told) {
    if (uids.has(uid)) continue;
    told.delete(uid);
    yield line('DELETED', pod);
  }
  for (const pod of pods) {
    const uid = uidOf(pod);
    const text = JSON.stringify(pod);
    const before = told.get(uid);
    if (before?.text === text) continue;
    told.set(uid, { pod, text });
    yield line(before === undefined ? 'ADDED' : 'MODIFIED', pod);
  }
}

const uidOf = ({ metadata }: Pod): string => metadata?.uid ?? '';

export interface EventWatchDeps {
  readonly list: () => readonly Event[];
  readonly onEvent: (listener: (event: Event) => void) => () => void;
  readonly isWanted: (event: Event) => boolean;
}

/** A client that is this far behind is cut off. */
const MOST_WAITING_EVENTS = 5_000;

/** The events kept, then each new one or repeated, until the signal fires. */
export async function* watchEvents(
  { list, onEvent, isWanted }: EventWatchDeps,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const waiting: Event[] = [...list()];
  const changes = createWaker(signal);
  const unsubscribe = onEvent((event) => {
    // A client that has stopped reading must not make the agent keep what it misses.
    if (!isWanted(event) || waiting.length > MOST_WAITING_EVENTS) return;
    waiting.push(event);
    changes.wake();
  });
  try {
    do {
      while (waiting.length > 0) {
        if (waiting.length > MOST_WAITING_EVENTS) return;
        const event = waiting.shift();
        if (event !== undefined) yield line('ADDED', event);
      }
    } while (await changes.next());
  } finally {
    unsubscribe();
  }
}

interface Waker {
  readonly wake: () => void;
  /** Resolves with true after `wake` was called, also when that was before; with false once the signal fired. */
  next(): Promise<boolean>;
}

function createWaker(signal: AbortSignal): Waker {
  let isAwake = false;
  let resolveNext: () => void = () => undefined;
  const wake = (): void => {
    isAwake = true;
    resolveNext();
  };
  signal.addEventListener('abort', wake, { once: true });
  return {
    wake,
    async next() {
      if (!isAwake && !signal.aborted) {
        await new Promise<void>((resolve) => {
          resolveNext = resolve;
        });
      }
      isAwake = false;
      return !signal.aborted;
    },
  };
}
