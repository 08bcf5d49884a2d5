import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { sleep, systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { type CriConnection, connectRuntime } from '#cri/client/connection.ts';
import { type ContractContext, withContractContext } from '#cri/contract-context.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';
import { eventually } from '../../testing/wait.ts';

const ROUNDS = 8;
const STARTER = join(import.meta.dirname, 'start-container.fixture.ts');

let cri: CriConnection;
let folder: TempDir;
beforeAll(async () => {
  folder = await createTempDir();
  cri = connectRuntime({ endpoint: inject('criEndpoint'), log: silentLogger });
});
afterAll(async () => {
  cri.close();
  await folder[Symbol.asyncDispose]();
});

const inContext = (work: (context: ContractContext) => Promise<void>): Promise<void> =>
  withContractContext(
    {
      cri,
      clock: systemClock,
      log: silentLogger,
      image: 'local/busybox:1',
      logRoot: folder.path,
      endContainer: () => Promise.reject(new Error('must not be called')),
    },
    work,
  );

function startIn(containerId: string, ...mode: readonly ('leave' | 'stay')[]): ChildProcess {
  const argv = [STARTER, inject('criEndpoint'), containerId, ...mode];
  return spawn(process.execPath, argv, { stdio: ['pipe', 'pipe', 'inherit'] });
}

function until(child: ChildProcess, word: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let text = '';
    child.stdout?.on('data', (chunk) => {
      text += String(chunk);
      if (text.includes(word)) resolve();
    });
    child.once('exit', () => reject(new Error(`it ended before it said ${word}: ${text}`)));
  });
}

const stateOf = async (containerId: string) => (await cri.runtime.containerStatus({ containerId })).status;

/** Returns state and reason of the container once it has left the state created. */
async function outcomeOf(containerId: string): Promise<readonly (string | undefined)[]> {
  await eventually(async () => (await stateOf(containerId))?.state !== 'CONTAINER_CREATED');
  const status = await stateOf(containerId);
  return [status?.state, status?.reason];
}
const RUNS = ['CONTAINER_RUNNING', ''];

/** Connection holder processes by command line, including those of agents of other tests. */
async function holders(): Promise<readonly string[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
  );
  return pids.filter((_, index) => lines[index]?.includes('\0nodeagent-connection\0'));
}

async function parentOf(pid: string): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^PPid:\s*(\d+)$/m.exec(status)?.[1]);
}

/** Children of the process. */
async function holdersOf({ pid }: ChildProcess): Promise<readonly string[]> {
  const all = await holders();
  const parents = await Promise.all(all.map(parentOf));
  return all.filter((_, index) => parents[index] === pid);
}

// Without the holder about half of these containers end with exit code 128, "context canceled".
test('a container runs even when its starter is killed during the start', async () => {
  await inContext(async ({ runSandbox, createContainer }) => {
    const sandbox = await runSandbox();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { containerId } = await createContainer(sandbox);
      const child = startIn(containerId);
      // Where the start takes less time than this wait, the process exits by itself.
      const ended = once(child, 'exit');
      await until(child, 'starting');
      await sleep(systemClock, round * 4);
      child.kill('SIGKILL');
      await ended;
      expect(await outcomeOf(containerId)).toEqual(RUNS);
    }
  });
});

test('a container runs even when its starter disconnects during the start', async () => {
  await inContext(async ({ runSandbox, createContainer }) => {
    const { containerId } = await createContainer(await runSandbox());
    await once(startIn(containerId, 'leave'), 'exit');
    expect(await outcomeOf(containerId)).toEqual(RUNS);
  });
});

test('the connection of a process that exited without calls in flight is not held', async () => {
  await inContext(async ({ runSandbox, createContainer }) => {
    const { containerId } = await createContainer(await runSandbox());
    const child = startIn(containerId, 'stay');
    const ended = once(child, 'exit');
    await until(child, 'starting');
    const started = await holdersOf(child);
    expect(await Promise.all(started.map((pid) => readlink(`/proc/${pid}/cwd`)))).toEqual(['/']);
    child.stdin?.end();
    await ended;
    await eventually(async () => !(await holders()).some((pid) => started.includes(pid)));
  });
});
