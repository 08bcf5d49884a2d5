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
const STARTER = join(import.meta.dirname, 'testing/start-container.ts');

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
      endContainer: () => Promise.reject(new Error('nobody asks for it')),
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

/** The container's state and reason once it is no longer only made. */
async function outcomeOf(containerId: string): Promise<readonly (string | undefined)[]> {
  await eventually(async () => (await stateOf(containerId))?.state !== 'CONTAINER_CREATED');
  const status = await stateOf(containerId);
  return [status?.state, status?.reason];
}
const RUNS = ['CONTAINER_RUNNING', ''];

/** Processes that hold connections, by what they run as; of agents of other tests, too. */
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

/** Those that the process started. */
async function holdersOf({ pid }: ChildProcess): Promise<readonly string[]> {
  const all = await holders();
  const parents = await Promise.all(all.map(parentOf));
  return all.filter((_, index) => parents[index] === pid);
}

// Without the holder about half of these containers end with exit code 128, "context canceled".
test('a container whose start is under way when its starter is killed runs all the same', async () => {
  await inContext(async ({ runSandbox, createContainer }) => {
    const sandbox = await runSandbox();
    for (let round = 0; round < ROUNDS; round += 1) {
      const { containerId } = await createContainer(sandbox);
      const child = startIn(containerId);
      // Where the start takes no longer than this waits, it ends by itself.
      const ended = once(child, 'exit');
      await until(child, 'starting');
      await sleep(systemClock, round * 4);
      child.kill('SIGKILL');
      await ended;
      expect(await outcomeOf(containerId)).toEqual(RUNS);
    }
  });
});

test('a container whose starter disconnects while the start is under way runs all the same', async () => {
  await inContext(async ({ runSandbox, createContainer }) => {
    const { containerId } = await createContainer(await runSandbox());
    await once(startIn(containerId, 'leave'), 'exit');
    expect(await outcomeOf(containerId)).toEqual(RUNS);
  });
});

test('nobody holds the connection of a process that ended with no call under way', async () => {
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
