/** A private network for one test, in namespaces that end with it: one machine in the middle, to which the
 *  test itself moves, and others around it. A namespace belongs to a thread: sockets and processes created
 *  by the thread belong to its namespace at that moment. Needs root, and a test file in a separate
 *  process. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);

const CLONE_NEWNET = 0x40_00_00_00;
/** Prefix of all machines of a network, unknown outside. */
const PREFIX = '10.199.0';

export interface TestMachine {
  readonly address: string;
  /** Runs the synchronous part of the work as if on that machine. */
  on<T>(work: () => T): T;
  /** Like `on`, until the promise is settled; the test must do nothing else meanwhile. */
  whileOn<T>(work: () => Promise<T>): Promise<T>;
}

export interface TestNetwork extends AsyncDisposable {
  /** Address of the test's machine. */
  readonly address: string;
  addMachine(): Promise<TestMachine>;
}

interface Namespace {
  readonly pid: number;
  readonly fd: number;
  readonly ip: (...args: readonly string[]) => Promise<void>;
  readonly end: () => Promise<void>;
}

/** A process that does nothing else keeps the namespace alive. */
async function createNamespace(): Promise<Namespace> {
  const holder: ChildProcess = spawn('unshare', ['--net', 'sh', '-c', 'echo in; exec sleep infinity'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const { pid } = holder;
  if (pid === undefined || holder.stdout === null) throw new Error('there is no unshare');
  await once(holder.stdout, 'data');
  const path = `/proc/${pid}/ns/net`;
  const fd = openSync(path, 'r');
  const ip = async (...args: readonly string[]): Promise<void> => {
    await run('nsenter', [`--net=${path}`, 'ip', ...args]);
  };
  await ip('link', 'set', 'lo', 'up');
  return {
    pid,
    fd,
    ip,
    async end() {
      closeSync(fd);
      const ended = once(holder, 'exit');
      holder.kill('SIGKILL');
      await ended;
    },
  };
}

type Enter = (fd: number) => void;

async function loadEnter(): Promise<Enter> {
  const { default: koffi } = await import('koffi');
  const setns: (fd: number, type: number) => number = koffi.load(null).func('int setns(int fd, int type)');
  return (fd) => {
    if (setns(fd, CLONE_NEWNET) !== 0) throw new Error(`setns failed with error number ${koffi.errno()}`);
  };
}

export async function startTestNetwork(): Promise<TestNetwork> {
  const enter = await loadEnter();
  await using started = new AsyncDisposableStack();
  const before = openSync('/proc/thread-self/ns/net', 'r');
  started.defer(() => closeSync(before));
  const middle = await createNamespace();
  started.defer(() => middle.end());
  await middle.ip('link', 'add', 'bridge', 'type', 'bridge');
  await middle.ip('address', 'add', `${PREFIX}.1/24`, 'dev', 'bridge');
  await middle.ip('link', 'set', 'bridge', 'up');
  enter(middle.fd);
  started.defer(() => enter(before));
  const all = started.move();
  let machines = 1;

  function on<T>(fd: number, work: () => T): T {
    enter(fd);
    try {
      return work();
    } finally {
      enter(middle.fd);
    }
  }

  async function whileOn<T>(fd: number, work: () => Promise<T>): Promise<T> {
    enter(fd);
    try {
      return await work();
    } finally {
      enter(middle.fd);
    }
  }

  return {
    address: `${PREFIX}.1`,
    async addMachine() {
      machines += 1;
      const address = `${PREFIX}.${machines}`;
      const port = `port${machines}`;
      const { pid, fd, ip, end } = await createNamespace();
      all.defer(end);
      await middle.ip('link', 'add', port, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', String(pid));
      await middle.ip('link', 'set', port, 'master', 'bridge', 'up');
      await ip('address', 'add', `${address}/24`, 'dev', 'eth0');
      await ip('link', 'set', 'eth0', 'up');
      await ip('route', 'add', 'default', 'via', `${PREFIX}.1`);
      return { address, on: (work) => on(fd, work), whileOn: (work) => whileOn(fd, work) };
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
