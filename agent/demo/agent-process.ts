/** The demo's agent as a process: found again by its pid file, started in a session of its own, ended by SIGTERM. */
import { type ChildProcess, spawn } from 'node:child_process';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { parsePidFile, readProcess } from '#agent/runtime/managed/process.ts';
import { type Clock, sleep } from '#api/kit/clock.ts';
import type { DemoLayout } from './layout.ts';

export interface AgentStart {
  readonly layout: DemoLayout;
  /** The repository's folder. */
  readonly repository: string;
  readonly manifests: string;
  readonly endpoint: string;
  /** Other settings, as flags. */
  readonly extra: readonly string[];
}

/** The agent ended while it was needed. The message has the end of its log. */
export class AgentEndedError extends Error {
  constructor(logPath: string, logEnd: string) {
    super(`the agent ended; its log ${logPath} ends:\n${logEnd}`);
    this.name = 'AgentEndedError';
  }
}

const STOP_TIMEOUT_MS = 15_000;
const LOOK_MS = 50;

/** The flags of the demo's agent; the one with its root folder is how its process is recognised. */
export function agentArguments(start: AgentStart): readonly string[] {
  return [
    `${start.repository}/agent/bin.ts`,
    'run',
    rootFlag(start.layout),
    `--pod-manifest-path=${start.manifests}`,
    `--container-runtime-endpoint=${start.endpoint}`,
    `--socket=${start.layout.agentSocket}`,
    `--pod-logs-dir=${start.layout.podLogs}`,
    `--container-logs-dir=${start.layout.logLinks}`,
    ...start.extra,
  ];
}

function rootFlag(layout: DemoLayout): string {
  return `--root-dir=${layout.agentRoot}`;
}

/** Pid of the demo's agent if it runs. */
export async function findAgent(layout: DemoLayout): Promise<number | undefined> {
  const pid = parsePidFile(await readOrEmpty(layout.agentPid));
  const image = pid === undefined ? undefined : await readProcess(pid);
  return image?.args.includes(rootFlag(layout)) === true ? pid : undefined;
}

/** Starts it with its output in a log file; it outlives the demo unless told to end. */
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

/** Ends it and waits until it is gone; SIGKILL when it does not go by itself. Pods run on. */
export async function stopAgent(clock: Clock, layout: DemoLayout): Promise<void> {
  for (const signalName of ['SIGTERM', 'SIGKILL'] as const) {
    const deadlineMs = clock.monotonic() + STOP_TIMEOUT_MS;
    const pid = await findAgent(layout);
    if (pid === undefined) break;
    process.kill(pid, signalName);
    while (clock.monotonic() < deadlineMs && (await findAgent(layout)) !== undefined) {
      await sleep(clock, LOOK_MS);
    }
  }
  await rm(layout.agentPid, { force: true });
}

/** The last lines of the agent's log. */
export async function agentLogEnd(layout: DemoLayout): Promise<string> {
  return (await readOrEmpty(layout.agentLog)).trimEnd().split('\n').slice(-12).join('\n').slice(-6000);
}

async function readOrEmpty(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // Not there: as good as empty for both files.
    return '';
  }
}
