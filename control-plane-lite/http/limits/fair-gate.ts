/** Gate of bounded width for costly work: at most `slots` tasks run at once, and the clients whose tasks wait take
 *  turns. A client that floods the gate delays others by one task. */
import type { Clock } from '#api/kit/clock.ts';
import type { Gate } from '../../authn/contract.ts';
import { createFairQueue } from './in-flight.ts';

export interface FairGateOptions {
  readonly slots: number;
  /** Maximum number of waiting tasks per client. */
  readonly maxPerFlow: number;
  /** Maximum number of waiting tasks in total. */
  readonly maxWaiting: number;
  /** Longest wait for a slot, in ms. */
  readonly maxWaitMs: number;
}

/** The task did not start, because too many wait. */
class GateFullError extends Error {
  override readonly name = 'GateFullError';
  constructor() {
    super('too many credentials wait to be verified');
  }
}

interface Waiter {
  readonly grant: () => void;
  readonly refuse: () => void;
}

export function createFairGate({ clock }: { readonly clock: Clock }, options: FairGateOptions): Gate {
  const queue = createFairQueue<Waiter>(options);

  function wait(flow: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const waiter: Waiter = {
        grant() {
          timer?.cancel();
          resolve();
        },
        refuse() {
          timer?.cancel();
          reject(new GateFullError());
        },
      };
      const arrival = queue.arrive(flow, waiter);
      const timer =
        arrival.kind === 'rejected'
          ? undefined
          : clock.setTimer(() => {
              if (queue.remove(flow, waiter)) waiter.refuse();
            }, options.maxWaitMs);
      if (arrival.kind === 'rejected') waiter.refuse();
      else arrival.evicted?.refuse();
    });
  }

  return {
    async run(flow, task) {
      if (!queue.admit()) await wait(flow);
      try {
        return await task();
      } finally {
        queue.leave()?.grant();
      }
    },
  };
}
