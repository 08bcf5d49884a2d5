/** A machine with a real systemd, booted in systemd-nspawn: commands in it, reboot, power off. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { open, readdir, readFile, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { unmountUnder } from '#agent/runtime/managed/purge.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { createTempDir } from '../testing/temp.ts';
import { eventually } from '../testing/wait.ts';
import { type CommandResult, outputOf, within } from './command.ts';
import { cachedRootfs } from './rootfs.ts';

const execute = promisify(execFile);

export interface Machine extends AsyncDisposable {
  /** Its root folder as the host sees it. */
  readonly rootfs: string;
  /** File with the output of its console. */
  readonly consoleLog: string;
  /** Runs a command in it and returns how it ended. */
  try(argv: readonly string[], timeoutMs?: number): Promise<CommandResult>;
  /** Runs a command in it and returns its output. @throws Error when it fails */
  run(argv: readonly string[], timeoutMs?: number): Promise<string>;
  /** `systemctl reboot`, and waits until it is up again. Resolves with the time it took to go down, in ms. */
  reboot(): Promise<number>;
  powerOff(): Promise<number>;
}

const BOOT_TIMEOUT_MS = 60_000;
const DOWN_TIMEOUT_MS = 100_000;
const COMMAND_TIMEOUT_MS = 60_000;
const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const REPOSITORY = resolve(import.meta.dirname, '..');
/** Cgroups that a machine creates at the top of the host's v1 hierarchies, which have no namespace of their
 *  own. */
const MACHINE_CGROUPS = [
  'payload',
  'supervisor',
  'init.scope',
  'system.slice',
  'user.slice',
  CONTAINERD_CRI_NAMESPACE,
  'nodeagent',
];

interface Booted {
  readonly nspawn: ChildProcess;
  /** Process 1 of the machine, as the host numbers it. */
  readonly leader: number;
  readonly exited: Promise<number>;
}

/** Copies the system and boots it; the repository is at /src, read-only. */
export async function bootMachine(): Promise<Machine> {
  const base = await cachedRootfs();
  const dir = await createTempDir();
  const rootfs = `${dir.path}/root`;
  const consoleLog = `${dir.path}/console.log`;
  const foreign = await topCgroups();
  await execute('cp', ['-a', '--reflink=auto', base, rootfs]);
  let booted = await boot(rootfs, consoleLog);

  async function attempt(argv: readonly string[], timeoutMs = COMMAND_TIMEOUT_MS): Promise<CommandResult> {
    return enter(booted.leader, argv, timeoutMs);
  }

  async function run(argv: readonly string[], timeoutMs?: number): Promise<string> {
    return outputOf(argv, await attempt(argv, timeoutMs));
  }

  async function goDown(verb: string): Promise<number> {
    const startMs = performance.now();
    await attempt(['systemctl', verb]);
    await within(booted.exited, DOWN_TIMEOUT_MS, `the machine did not ${verb}`);
    return performance.now() - startMs;
  }

  return {
    rootfs,
    consoleLog,
    try: attempt,
    run,
    async reboot() {
      const tookMs = await goDown('reboot');
      booted = await boot(rootfs, consoleLog);
      return tookMs;
    },
    powerOff: () => goDown('poweroff'),
    async [Symbol.asyncDispose]() {
      if (booted.nspawn.exitCode === null) process.kill(booted.leader, 'SIGKILL');
      await booted.exited;
      await removeMachineCgroups();
      await removeNewCgroups(foreign);
      await unmountUnder([dir.path]);
      await rm(dir.path, { recursive: true, force: true });
    },
  };
}

/** Remains of nspawn; a boot fails while they exist. */
async function removeMachineCgroups(): Promise<void> {
  await removeCgroupTree('/payload');
  await removeCgroupTree('/supervisor');
}

async function boot(rootfs: string, consoleLog: string): Promise<Booted> {
  await removeMachineCgroups();
  const output = await open(consoleLog, 'a');
  const nspawn = spawn(
    'systemd-nspawn',
    [
      `--directory=${rootfs}`,
      '--boot',
      '--quiet',
      '--register=no',
      '--keep-unit',
      '--console=pipe',
      '--private-network',
      '--capability=all',
      '--machine=node1',
      `--bind-ro=${REPOSITORY}:/src`,
    ],
    // Its system call filter forbids the session keyring that runc creates.
    { stdio: ['ignore', output.fd, output.fd], env: { PATH, SYSTEMD_SECCOMP: '0' } },
  );
  await output.close();
  const exited = new Promise<number>((resolveExit) => {
    nspawn.once('exit', (code) => resolveExit(code ?? -1));
  });
  const leader = await eventually(() => leaderOf(nspawn.pid ?? 0), { timeoutMs: BOOT_TIMEOUT_MS });
  await eventually(() => isUp(leader), { timeoutMs: BOOT_TIMEOUT_MS, what: 'the machine is up' });
  await openCgroups(leader);
  return { nspawn, leader, exited };
}

async function leaderOf(pid: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  for (const child of children.trim().split(' ').filter(Boolean)) {
    const status = await readFile(`/proc/${child}/status`, 'utf8');
    // Numbered 1 in its own namespace.
    if (/^NSpid:\s+\d+\s+1$/m.test(status)) return Number(child);
  }
  return undefined;
}

async function isUp(leader: number): Promise<boolean> {
  const { stdout } = await enter(leader, ['systemctl', 'is-system-running', '--wait'], BOOT_TIMEOUT_MS);
  return /^(?:running|degraded)/.test(stdout);
}

/** nspawn mounts the v1 hierarchies read-only; containers need to create cgroups in them. */
async function openCgroups(leader: number): Promise<void> {
  const script =
    'for c in cpu cpuacct memory pids cpuset blkio devices freezer; do [ ! -d /sys/fs/cgroup/$c ] || mount -o remount,bind,rw /sys/fs/cgroup/$c; done';
  await enter(leader, ['sh', '-c', script], COMMAND_TIMEOUT_MS);
}

function enter(leader: number, argv: readonly string[], timeoutMs: number): Promise<CommandResult> {
  return new Promise((resolveResult) => {
    execFile(
      'nsenter',
      [`--target=${leader}`, '--all', 'env', '--chdir=/', '-i', `PATH=${PATH}`, 'LANG=C.UTF-8', ...argv],
      { timeout: timeoutMs, killSignal: 'SIGKILL', maxBuffer: 64 * 1024 * 1024 },
      (error, stdout, stderr) => {
        const code = error?.code;
        resolveResult({
          exitCode: typeof code === 'number' ? code : error === null ? 0 : -1,
          stdout,
          stderr,
        });
      },
    );
  });
}

async function topCgroups(): Promise<ReadonlySet<string>> {
  const root = '/sys/fs/cgroup';
  const hierarchies = await readdir(root);
  const names = await Promise.all(hierarchies.map((name) => readdir(`${root}/${name}`).catch(() => [])));
  return new Set([...hierarchies, ...names.flat()]);
}

/** Removes the machine's cgroups at the top of the hierarchies, and no earlier ones. */
async function removeNewCgroups(foreign: ReadonlySet<string>): Promise<void> {
  for (const name of MACHINE_CGROUPS) {
    if (!foreign.has(name)) await removeCgroupTree(`/${name}`);
  }
}
