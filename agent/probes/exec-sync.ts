/** Commands in containers for probes and hooks, over CRI. */
import type { Clock, Timer } from '#api/kit/clock.ts';
import { asError } from '#api/kit/errno.ts';
import type { RuntimeService } from '#cri/gen/cri-v1.ts';
import type { ExecResult, ExecSync } from './exec.ts';

export interface ExecSyncDeps {
  readonly runtime: Pick<RuntimeService, 'execSync'>;
  readonly clock: Clock;
}

export interface ExecCalls {
  /** Rejects with the signal's reason as soon as that fires; the command itself keeps running. */
  readonly execSync: ExecSync;
  /** Resolves when no call is likely being set up: each call in flight has ended, or is old enough. Never
   *  rejects. */
  readonly setUp: () => Promise<void>;
}

/** Time after which an abandoned call is cancelled, in ms.
 *
 *  Cancelling a call while the command is being set up leaves containerd's shim waiting for the other end of
 *  the command's pipes. The shim times out after 30 s, and until then neither stops the container nor starts
 *  another command in it. Later cancellation is harmless; and a command mostly ends earlier by its own
 *  timeout, or with its container. */
const ABANDONED_CALL_MS = 30_000;

/** Setting up a command takes the runtime some 50 ms, and a few times that on a busy machine. */
const SET_UP_MS = 400;

export function createExecCalls({ runtime, clock }: ExecSyncDeps): ExecCalls {
  const beingSetUp = new Set<Promise<void>>();

  function begin(containerId: string, cmd: readonly string[], timeoutMs: number, cancel: AbortSignal) {
    // CRI timeouts are whole seconds; fractions are rounded up, 0 stays "none".
    const timeout = BigInt(Math.ceil(timeoutMs / 1000));
    const call = runtime.execSync({ containerId, cmd, timeout }, { signal: cancel });
    const setUp = Promise.withResolvers<void>();
    beingSetUp.add(setUp.promise);
    const onSetUp = (): void => {
      timer.cancel();
      beingSetUp.delete(setUp.promise);
      setUp.resolve();
    };
    const timer = clock.setTimer(onSetUp, SET_UP_MS);
    call.then(onSetUp, onSetUp);
    return call;
  }

  return {
    execSync(containerId, argv, timeoutMs, signal) {
      return new Promise<ExecResult>((resolve, reject) => {
        signal.throwIfAborted();
        const cancel = new AbortController();
        let late: Timer | undefined;
        const onAbort = (): void => {
          const reason = asError(signal.reason);
          reject(reason);
          late = clock.setTimer(() => cancel.abort(reason), ABANDONED_CALL_MS);
        };
        signal.addEventListener('abort', onAbort, { once: true });
        void begin(containerId, argv, timeoutMs, cancel.signal)
          .then(resolve, reject)
          .finally(() => {
            signal.removeEventListener('abort', onAbort);
            late?.cancel();
          });
      });
    },
    async setUp() {
      await Promise.all(beingSetUp);
    },
  };
}
