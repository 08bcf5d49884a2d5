/** What goes to the thread: everything that came up in one turn of the event loop in one message. */
import type { ToThread } from './protocol.ts';
import { createQuestions, type Questions } from './questions.ts';
import { createWrites, type Writes } from './writes.ts';

export interface SenderDeps {
  readonly post: (message: ToThread) => void;
  /** Has the work done when this turn of the event loop has brought all that it brings. */
  readonly defer: (work: () => void) => void;
}

export interface Sender {
  readonly writes: Writes;
  readonly questions: Questions;
  /** So many bytes of records were given out. */
  readonly taken: (bytes: number) => void;
  readonly sendSoon: () => void;
  readonly sendNow: () => void;
}

/** Given out and not yet told to the thread; with more it is told soon. */
const TAKEN_BYTES = 1024 * 1024;

export function createSender({ post, defer }: SenderDeps): Sender {
  const writes = createWrites();
  const questions = createQuestions();
  let isDue = false;
  let takenBytes = 0;

  function sendNow(): void {
    isDue = false;
    const message = { writes: writes.take(), requests: questions.take(), takenBytes };
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
    questions,
    taken(bytes) {
      takenBytes += bytes;
      if (takenBytes > TAKEN_BYTES) sendSoon();
    },
    sendSoon,
    sendNow,
  };
}
