/** Sender of messages to the thread: everything that came up in one turn of the event loop in one message. */

import { createPendingRequests, type PendingRequests } from './pending-requests.ts';
import type { ToThread } from './protocol.ts';
import { createWrites, type Writes } from './writes.ts';

export interface SenderDeps {
  readonly post: (message: ToThread) => void;
  /** Runs the work at the end of this turn's arrivals. */
  readonly defer: (work: () => void) => void;
}

export interface Sender {
  readonly writes: Writes;
  readonly requests: PendingRequests;
  /** This many bytes of records were delivered. */
  readonly taken: (bytes: number) => void;
  readonly sendSoon: () => void;
  readonly sendNow: () => void;
}

/** Bytes delivered and not yet reported to the thread; beyond it they are reported soon. */
const TAKEN_BYTES = 1024 * 1024;

export function createSender({ post, defer }: SenderDeps): Sender {
  const writes = createWrites();
  const requests = createPendingRequests();
  let isDue = false;
  let takenBytes = 0;

  function sendNow(): void {
    isDue = false;
    const message = { writes: writes.take(), requests: requests.take(), takenBytes };
    takenBytes = 0;
    if (message.writes === undefined && message.requests.length === 0 && message.takenBytes === 0) return;
    post(message);
  }

  function sendSoon(): void {
    if (isDue) return;
    isDue = true;
    defer(sendNow);
  }

  return {
    writes,
    requests,
    taken(bytes) {
      takenBytes += bytes;
      if (takenBytes > TAKEN_BYTES) sendSoon();
    },
    sendSoon,
    sendNow,
  };
}
