/** Fault injection for future calls, and a record of past calls. */
import { type Clock, sleep } from '#api/kit/clock.ts';
import { FakeFailure, type FakeFailureReason } from './failure.ts';

export interface RecordedCall {
  /** Name of the rpc: `RunPodSandbox`. */
  readonly method: string;
  readonly request: unknown;
}

/** Faults are consumed in order, one per call of the method; delays combine with the following fault. */
export interface Faults {
  /** The next call of `method` fails without effect. */
  readonly failNext: (method: string, reason: FakeFailureReason, details?: string) => void;
  /** The next call takes effect and then fails: the client cannot know the result. */
  readonly failNextAfterwards: (method: string, reason: FakeFailureReason, details?: string) => void;
  /** Delays the next call by this time (ms of the fake clock). */
  readonly delayNext: (method: string, delayMs: number) => void;
  /** Blocks the next call until the returned function is called. */
  readonly hangNext: (method: string) => () => void;
  /** Every call so far, in order. */
  readonly calls: () => readonly RecordedCall[];
}

export interface FaultInjector extends Faults {
  /** Runs `work` with the planned faults. */
  readonly pass: <T>(method: string, request: unknown, work: () => T | Promise<T>) => Promise<T>;
}

type Fault =
  | { readonly kind: 'fail' | 'fail-afterwards'; readonly failure: FakeFailure }
  | { readonly kind: 'wait'; readonly until: () => Promise<void> };

/** @param keepCalls whether `calls` records every call */
export function createFaults(clock: Clock, keepCalls = true): FaultInjector {
  const planned = new Map<string, Fault[]>();
  const calls: RecordedCall[] = [];

  function plan(method: string, fault: Fault): void {
    planned.set(method, [...(planned.get(method) ?? []), fault]);
  }

  const failure = (reason: FakeFailureReason, details = `injected ${reason}`): FakeFailure =>
    new FakeFailure(reason, details);

  return {
    failNext: (method, reason, details) => plan(method, { kind: 'fail', failure: failure(reason, details) }),
    failNextAfterwards: (method, reason, details) =>
      plan(method, { kind: 'fail-afterwards', failure: failure(reason, details) }),
    delayNext: (method, delayMs) => plan(method, { kind: 'wait', until: () => sleep(clock, delayMs) }),
    hangNext(method) {
      const { promise, resolve } = Promise.withResolvers<void>();
      plan(method, { kind: 'wait', until: () => promise });
      return resolve;
    },
    calls: () => calls,
    async pass(method, request, work) {
      if (keepCalls) calls.push({ method, request });
      let fault = planned.get(method)?.shift();
      while (fault?.kind === 'wait') {
        await fault.until();
        fault = planned.get(method)?.shift();
      }
      if (fault?.kind === 'fail') throw fault.failure;
      const result = await work();
      if (fault?.kind === 'fail-afterwards') throw fault.failure;
      return result;
    },
  };
}
