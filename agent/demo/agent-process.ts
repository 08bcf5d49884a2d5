/** Process of the demo agent: found by its pid file, started in its own session, stopped with SIGTERM. */
import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { parsePidFile, readProcess } from '#agent/runtime/managed/process.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { DemoLayout } from './layout.ts';

export interface AgentStart {
  readonly layout: DemoLayout;
  /** Path of the repository. */
  readonly repository: string;
  readonly manifests: string;
  /** Other settings, as flags. */
  readonly extra: readonly string[];
}

/** The agent exited while it was needed. The message contains the end of its log. */
export class AgentEndedError extends Error {
  constructor(logPath: string, logEnd: string) {
    super(`the agent exited; the end of its log ${logPath}:\n${logEnd}`);
    this.name = 'AgentEndedError';
  }
}

const STOP_TIMEOUT_MS = 15_000;
const POLL_MS = 50;

/** Returns the flags of the demo agent; the root directory among them identifies its process. */
function agentArguments(start: AgentStart): readonly string[] {
  return [
    `${start.repository}/agent/bin.ts`,
    'run',
    rootFlag(start.layout),
    `--pod-manifest-path=${start.manifests}`,
    `--socket=${start.layout.agentSocket}`,
    `--pod-logs-dir=${start.layout.podLogs}`,
    `--container-logs-dir=${start.layout.logLinks}`,
    ...start.extra,
  ];
}

function rootFlag(layout: DemoLayout): string {
  return `--root-dir=${layout.agentRoot}`;
}

/** Returns the pid of the demo agent if it is running. */
export async function findAgent(layout: DemoLayout): Promise<number | undefined> {
  const pid = parsePidFile(await readOrEmpty(layout.agentPid));
  const image = pid === undefined ? undefined : await readProcess(pid);
  return image?.args.includes(rootFlag(layout)) === true ? pid : undefined;
}

/** Starts the agent with its output in a log file; it outlives the demo unless it is stopped. */
export async function spawnAgent(start: AgentStart): Promise<ChildProcess> {
  const output = await open(start.layout.agentLog, 'w', 0o640);
  try {
    const child = spawn(process.execPath, agentArguments(start), {
      cwd: '/',
      detached: true,
      stdio: ['ignore', output.fd, output.fd],
    });
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve);
      child.once('error', reject);
    });
    await writeFile(start.layout.agentPid, `${child.pid}\n`);
    return child;
  } finally {
    await output.close();
  }
}

/** Stops the agent and waits for its exit; SIGKILL if it does not stop in time. Pods keep running. */
export async function stopAgent(clock: Clock, layout: DemoLayout): Promise<void> {
  for (const signalName of ['SIGTERM', 'SIGKILL'] as const) {
    const deadlineMs = clock.monotonic() + STOP_TIMEOUT_MS;
    const pid = await findAgent(layout);
    if (pid === undefined) break;
    process.kill(pid, signalName);
    while (clock.monotonic() < deadlineMs && (await findAgent(layout)) !== undefined) {
      await sleep(clock, POLL_MS);
    }
  }
  await rm(layout.agentPid, { force: true });
}

/** Returns the last lines of the agent log. */
export async function agentLogEnd(layout: DemoLayout): Promise<string> {
  return (await readOrEmpty(layout.agentLog)).trimEnd().split('\n').slice(-12).join('\n').slice(-6000);
}

async function readOrEmpty(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // A missing log file counts as empty.
    return '';
  }
}
