/** Program of the thread that waits for the kernel: sleeps in poll(2) until a watch fires or the agent sends
 *  a message. The thread is blocked meanwhile, so it does nothing else.
 *  @see eventfd(2), poll(2), the kernel's cgroup-v1/memory and accounting/psi documents */
import { closeSync, constants, openSync, readSync, writeSync } from 'node:fs';
import { parentPort, receiveMessageOnPort } from 'node:worker_threads';
import koffi from 'koffi';
import { asError } from '#api/kit/errno.ts';
import type { FromWaiter, ToWaiter } from './protocol.ts';
import type { MemoryWatch } from './watches.ts';

const EFD_NONBLOCK_CLOEXEC = 0o2004000;
const POLLIN = 1;
const POLLPRI = 2;
/** PSI triggers: stall time within a window, in µs. The kernel notifies as soon as it is reached, at most
 *  once per window. The first is the shortest possible one, and needs a privilege. */
const STALLS = ['some 50000 500000', 'some 100000 2000000'] as const;
const POLL_ENTRY_BYTES = 8;
const EVENTS_OFFSET = 6;

interface Armed {
  readonly fd: number;
  readonly events: number;
  readonly fired: () => void;
  readonly close: () => void;
}

const libc = koffi.load(null);
const eventfd: (initial: number, flags: number) => number = libc.func(
  'int eventfd(unsigned int initial, int flags)',
);
const poll: (entries: Buffer, count: number, timeoutMs: number) => number = libc.func(
  'int poll(void *entries, unsigned long count, int timeout)',
);

function createEvent(): number {
  const fd = eventfd(0, EFD_NONBLOCK_CLOEXEC);
  if (fd < 0) throw new Error(`eventfd failed with ${koffi.errno()}`);
  return fd;
}

const drain = (fd: number): void => void readSync(fd, Buffer.alloc(8));

function armUsage(folder: string, bytes: number): Armed {
  const usage = openSync(`${folder}/memory.usage_in_bytes`, 'r');
  const fd = createEvent();
  const close = (): void => {
    closeSync(fd);
    closeSync(usage);
  };
  try {
    const control = openSync(`${folder}/cgroup.event_control`, 'w');
    try {
      writeSync(control, `${fd} ${usage} ${bytes}`);
    } finally {
      closeSync(control);
    }
  } catch (thrown) {
    close();
    throw thrown;
  }
  return { fd, events: POLLIN, fired: () => drain(fd), close };
}

function armStall(file: string): Armed {
  let refused: unknown;
  for (const stall of STALLS) {
    const fd = openSync(file, constants.O_RDWR | constants.O_NONBLOCK);
    try {
      writeSync(fd, `${stall}\0`);
      return { fd, events: POLLPRI, fired: () => undefined, close: () => closeSync(fd) };
    } catch (thrown) {
      closeSync(fd);
      refused = thrown;
    }
  }
  throw asError(refused);
}

const arm = (watch: MemoryWatch): Armed =>
  watch.kind === 'usage' ? armUsage(watch.folder, watch.bytes) : armStall(watch.file);

function wait(armed: readonly Armed[]): readonly Armed[] {
  const entries = Buffer.alloc(armed.length * POLL_ENTRY_BYTES);
  armed.forEach(({ fd, events }, index) => {
    entries.writeInt32LE(fd, index * POLL_ENTRY_BYTES);
    entries.writeInt16LE(events, index * POLL_ENTRY_BYTES + 4);
  });
  if (poll(entries, armed.length, -1) < 0) return [];
  return armed.filter((_, index) => entries.readInt16LE(index * POLL_ENTRY_BYTES + EVENTS_OFFSET) !== 0);
}

function runWaiter(port: NonNullable<typeof parentPort>): void {
  const say = (message: FromWaiter): void => port.postMessage(message, []);
  const wakeFd = createEvent();
  const wake: Armed = { fd: wakeFd, events: POLLIN, fired: () => drain(wakeFd), close: () => undefined };
  let armed: readonly Armed[] = [];

  function watch(watches: readonly MemoryWatch[]): void {
    for (const one of armed) one.close();
    armed = watches.flatMap((one) => {
      try {
        return [arm(one)];
      } catch (thrown) {
        say({ kind: 'failed', watch: one, error: asError(thrown) });
        return [];
      }
    });
  }

  /** @returns whether to continue */
  function listen(): boolean {
    for (let heard = receiveMessageOnPort(port); heard !== undefined; heard = receiveMessageOnPort(port)) {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- both ends are this program
      const message = heard.message as ToWaiter;
      if (message.kind === 'end') return false;
      watch(message.watches);
    }
    return true;
  }

  say({ kind: 'ready', wakeFd });
  for (;;) {
    const fired = wait([wake, ...armed]);
    for (const one of fired) one.fired();
    if (fired.some((one) => one !== wake)) say({ kind: 'crossed' });
    if (fired.includes(wake) && !listen()) break;
  }
  watch([]);
  port.close();
  closeSync(wakeFd);
}

if (parentPort !== null) runWaiter(parentPort);
