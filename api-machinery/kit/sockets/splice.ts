/** Carries bytes between two connections. Loses none that were read before a connection broke: a program
 *  that sends its last words and exits resets the connection if it has not read everything itself, and a
 *  command's output and exit status are such last words. Does not interpret the bytes. */
import type { Duplex } from 'node:stream';
import { closeGently } from './close-gently.ts';

/** Both directions add listeners to both sockets, in addition to those of earlier owners. */
const LISTENERS = 30;

/** Passes on what was read in the same turn of the event loop at the end of the turn. Writing at once to a
 *  peer that has gone would fail, and destroy its socket before its last words are read in this turn. */
class Direction {
  readonly #to: Duplex;
  readonly #from: Duplex;
  readonly #pending: Buffer[] = [];
  readonly #done = Promise.withResolvers<void>();
  #isScheduled = false;
  #isOver = false;

  constructor(from: Duplex, to: Duplex) {
    this.#from = from;
    this.#to = to;
  }

  /** Resolves when everything has been written and the end was sent, or the receiver is gone. */
  run(): Promise<void> {
    const { promise, resolve } = this.#done;
    this.#to.once('finish', resolve).once('close', resolve);
    this.#to.on('drain', () => this.#from.resume());
    this.#from.once('end', () => this.#finish()).once('close', () => this.#finish());
    this.#from.on('data', (bytes: Buffer) => this.#take(bytes));
    if (this.#from.destroyed || this.#from.readableEnded) this.#finish();
    if (this.#to.destroyed || this.#to.writableFinished) resolve();
    this.#from.resume();
    return promise;
  }

  #take(bytes: Buffer): void {
    this.#pending.push(bytes);
    this.#schedule();
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    // A broken socket that was paused still holds what it had read.
    const rest: unknown = this.#from.destroyed ? this.#from.read() : null;
    if (Buffer.isBuffer(rest)) this.#pending.push(rest);
    this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const pending = this.#pending.splice(0);
    // Whatever a receiver that is gone would have been sent is discarded, so that the sender's end is seen.
    if (!this.#to.writable) return;
    if (pending.length > 0) this.#to.write(pending.length === 1 ? pending[0] : Buffer.concat(pending));
    if (this.#isOver) this.#to.end();
    else if (this.#to.writableNeedDrain) this.#from.pause();
  }
}

/** A socket with an error has been destroyed, and its close is handled. */
const ignoreError = (): void => undefined;

/** Resolves when both sides have ended or broken, and each was sent everything that was read from the other.
 *  The end of one side is propagated to the other, which may continue sending. */
export async function splice(one: Duplex, other: Duplex): Promise<void> {
  for (const socket of [one, other]) {
    // The other direction may still have data to send.
    socket.allowHalfOpen = true;
    socket.setMaxListeners(LISTENERS);
    socket.on('error', ignoreError);
  }
  await Promise.all([new Direction(one, other).run(), new Direction(other, one).run()]);
  closeGently(one);
  closeGently(other);
}
