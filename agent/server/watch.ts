/** Streams changes of pods and events, one JSON object per line. */
import type { Event, Pod } from '#api/gen/core-v1.ts';

export interface PodWatchDeps {
  readonly list: () => readonly Pod[];
  /** Calls the listener whenever a pod may have changed. @returns a function that ends the subscription */
  readonly onChange: (listener: () => void) => () => void;
}

const line = (type: string, object: object): Uint8Array =>
  Buffer.from(`${JSON.stringify({ type, object })}\n`);

/** Yields every pod as ADDED, a BOOKMARK, then changes, until the signal fires. A slow client skips
 *  intermediate states. */
export async function* watchPods(
  { list, onChange }: PodWatchDeps,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const changes = createWaker(signal);
  const unsubscribe = onChange(changes.wake);
  const sent = new Map<string, { readonly pod: Pod; readonly text: string }>();
  try {
    yield* podLines(sent, list());
    yield line('BOOKMARK', {});
    while (await changes.next()) yield* podLines(sent, list());
  } finally {
    unsubscribe();
  }
}

function* podLines(
  sent: Map<string, { readonly pod: Pod; readonly text: string }>,
  pods: readonly Pod[],
): Generator<Uint8Array> {
  const uids = new Set(pods.map(uidOf));
  for (const [uid, { pod }] of sent) {
    if (uids.has(uid)) continue;
    sent.delete(uid);
    yield line('DELETED', pod);
  }
  for (const pod of pods) {
    const uid = uidOf(pod);
    const text = JSON.stringify(pod);
    const before = sent.get(uid);
    if (before?.text === text) continue;
    sent.set(uid, { pod, text });
    yield line(before === undefined ? 'ADDED' : 'MODIFIED', pod);
  }
}

const uidOf = ({ metadata }: Pod): string => metadata?.uid ?? '';

export interface EventWatchDeps {
  readonly list: () => readonly Event[];
  readonly onEvent: (listener: (event: Event) => void) => () => void;
  readonly isWanted: (event: Event) => boolean;
}

/** Maximum number of events that a client can be behind before it is disconnected. */
const MOST_WAITING_EVENTS = 5_000;

/** Yields stored events, then each new or repeated one, until the signal fires. */
export async function* watchEvents(
  { list, onEvent, isWanted }: EventWatchDeps,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const waiting: Event[] = [...list()];
  const changes = createWaker(signal);
  const unsubscribe = onEvent((event) => {
    // A client that has stopped reading must not make the agent retain its backlog.
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
  /** Resolves with true after `wake` was called, even before; with false once the signal fired. */
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
