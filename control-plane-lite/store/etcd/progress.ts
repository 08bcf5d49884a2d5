/** Progress requests of a watch: queries its server for the revision up to which the watch has received
 *  everything.
 *
 *  Servers before 3.4.25 and 3.5.8 respond with their newest revision whether or not the watch has received
 *  everything up to it. With them, the request waits until the watch must have caught up (such a server
 *  processes watches that start in the past ten times a second), and two responses count as one: the second
 *  is requested after the first has arrived, and the server sends waiting events meanwhile.
 *
 *  Later servers ignore a request while the watch catches up: it is repeated. */
import type { Clock, Timer } from '#api/kit/clock.ts';

export interface ProgressDeps {
  readonly clock: Clock;
  readonly request: () => void;
  readonly onProgress: (revision: number) => void;
}

export interface Progress {
  /** Requests a call of `onProgress` with a revision at least as new as now. */
  readonly request: () => void;
  readonly onResponse: (revision: number) => void;
  /** A stream has started: pending requests of the last one are repeated.
   *  @param isExact whether its server's responses are reliable */
  readonly begin: (isExact: boolean) => void;
  /** The stream's watch is known to have caught up. */
  readonly caughtUp: () => void;
  /** The stream has ended: no request can be sent. */
  readonly pause: () => void;
}

const ASK_AGAIN_MS = 500;
const CATCH_UP_MS = 500;

type State =
  /** There is no stream, or its watch may not have caught up. */
  | { readonly kind: 'waiting' }
  | { readonly kind: 'idle' }
  /** `first`: the response that has to be confirmed. */
  | { readonly kind: 'pending'; readonly first: number | undefined };

export function createProgress({ clock, request, onProgress }: ProgressDeps): Progress {
  let state: State = { kind: 'waiting' };
  let isExact = false;
  /** A progress request is wanted that has not been sent since. */
  let isWanted = false;
  let timer: Timer | undefined;

  function send(first: number | undefined): void {
    state = { kind: 'pending', first };
    timer?.cancel();
    timer = clock.setTimer(() => send(first), ASK_AGAIN_MS);
    request();
  }

  function settle(): void {
    timer?.cancel();
    state = { kind: 'idle' };
    if (!isWanted) return;
    isWanted = false;
    send(undefined);
  }

  function pause(): void {
    timer?.cancel();
    if (state.kind === 'pending') isWanted = true;
    state = { kind: 'waiting' };
  }

  return {
    request() {
      isWanted = true;
      if (state.kind === 'idle') settle();
    },
    onResponse(revision) {
      if (state.kind !== 'pending') return;
      const { first } = state;
      if (first === undefined && !isExact) return send(revision);
      settle();
      onProgress(first ?? revision);
    },
    begin(serverIsExact) {
      pause();
      isExact = serverIsExact;
      if (isExact) settle();
      else timer = clock.setTimer(settle, CATCH_UP_MS);
    },
    caughtUp() {
      if (state.kind === 'waiting') settle();
    },
    pause,
  };
}

/** Reports whether a server of this version orders progress responses with events. */
export function answersInOrder(version: string): boolean {
  const [major = 0, minor = 0, patch = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  if (major !== 3 || minor > 5) return major > 3 || minor > 5;
  return (minor === 5 && patch >= 8) || (minor === 4 && patch >= 25);
}
