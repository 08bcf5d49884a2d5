/** Processes of hollow agents. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { cpuSeconds, residentMiB } from '../process.ts';
import type { FromAgents, ToAgents } from './messages.ts';

export interface AgentsUse {
  readonly cpuSeconds: number;
  readonly residentMiB: number;
}

export interface Agents extends AsyncDisposable {
  /** Of all processes together. */
  readonly use: () => Promise<AgentsUse>;
  /** Errors of agents that exited unexpectedly. */
  readonly errors: () => readonly string[];
}

export interface FleetPlace {
  readonly dir: string;
  readonly bootstrapConfig: string;
  readonly names: readonly string[];
  readonly processes: number;
  /** Agents started per second by all processes together. */
  readonly perSecond: number;
}

const PROGRAM = join(import.meta.dirname, 'agents-process.ts');
const END_MS = 10_000;

const send = (child: ChildProcess, message: ToAgents): void => void child.send(message);

/** Starts them and returns at once; they start one after the other. */
export function startAgents({ dir, bootstrapConfig, names, processes, perSecond }: FleetPlace): Agents {
  const errors: string[] = [];
  const children = Array.from({ length: processes }, (_, index) => {
    const child = fork(PROGRAM, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
    child.on('message', (message: FromAgents) => {
      if (message.kind === 'failed') errors.push(message.message);
    });
    child.once('exit', (code, signal) => {
      if (code !== 0) errors.push(`a process of agents exited with ${signal ?? code}`);
    });
    const own = names.filter((_name, at) => at % processes === index);
    send(child, {
      kind: 'start',
      options: { names: own, dir, bootstrapConfig, perSecond: perSecond / processes },
    });
    return child;
  });
  return {
    errors: () => errors,
    async use() {
      const pids = children.map(({ pid }) => pid ?? 0);
      const [cpu, resident] = await Promise.all([
        Promise.all(pids.map(cpuSeconds)),
        Promise.all(pids.map(residentMiB)),
      ]);
      const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
      return { cpuSeconds: sum(cpu), residentMiB: sum(resident) };
    },
    async [Symbol.asyncDispose]() {
      await Promise.all(children.map(end));
    },
  };
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  send(child, { kind: 'stop' });
  const late = setTimeout(() => child.kill('SIGKILL'), END_MS);
  await gone;
  clearTimeout(late);
}
