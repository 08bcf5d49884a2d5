/** A machine with a real systemd, booted in systemd-nspawn: commands in it, reboot, power off. */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { open, readFile, rm, writeFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { removeCgroupTree } from '#agent/runtime/managed/cgroup-tree.ts';
import { unmountUnder } from '#agent/runtime/managed/purge.ts';
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
  /** Its process 1, which has another number after each boot. */
  leader(): number;
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
interface Booted {
  readonly nspawn: ChildProcess;
  /** Process 1 of the machine, as the host numbers it. */
  readonly leader: number;
  readonly exited: Promise<number>;
}

/** Copies the system and boots it under a host name; the repository is at /src, read-only. Several machines run
 *  beside each other, without a network. */
export async function bootMachine(name = 'node1'): Promise<Machine> {
  const base = await cachedRootfs();
  const dir = await createTempDir();
  const rootfs = `${dir.path}/root`;
  const consoleLog = `${dir.path}/console.log`;
  await execute('cp', ['-a', '--reflink=auto', base, rootfs]);
  await writeFile(`${rootfs}/etc/hostname`, `${name}\n`);
  const place: Place = { name, rootfs, consoleLog, cgroup: `na-machine-${name}-${process.pid}` };
  let booted = await boot(place);

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
    leader: () => booted.leader,
    try: attempt,
    run,
    async reboot() {
      const tookMs = await goDown('reboot');
      booted = await boot(place);
      return tookMs;
    },
    powerOff: () => goDown('poweroff'),
    async [Symbol.asyncDispose]() {
      if (booted.nspawn.exitCode === null) process.kill(booted.leader, 'SIGKILL');
      await booted.exited;
      await removeCgroupTree(`/${place.cgroup}`);
      await unmountUnder([dir.path]);
      await rm(dir.path, { recursive: true, force: true });
    },
  };
}

interface Place {
  readonly name: string;
  readonly rootfs: string;
  readonly consoleLog: string;
  readonly cgroup: string;
}

async function boot({ name, rootfs, consoleLog, cgroup }: Place): Promise<Booted> {
  // A boot fails while there are remains of an earlier one.
  await removeCgroupTree(`/${cgroup}`);
  const output = await open(consoleLog, 'a');
  const nspawn = spawn(
    'sh',
    [
      '-euc',
      CGROUP_SCRIPT,
      'sh',
      cgroup,
      'systemd-nspawn',
      `--directory=${rootfs}`,
      '--boot',
      '--quiet',
      '--register=no',
      '--keep-unit',
      '--console=pipe',
      '--private-network',
      '--capability=all',
      `--machine=${name}`,
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

/** The machine's own cgroup in every hierarchy: those of version 1 have no other isolation. */
const CGROUP_SCRIPT = `
for hierarchy in /sys/fs/cgroup/*/; do
  if [ -L "\${hierarchy%/}" ]; then continue; fi
  mkdir -p "$hierarchy$1"
  if [ -f "$hierarchy$1/cpuset.cpus" ]; then
    cat "\${hierarchy}cpuset.cpus" >"$hierarchy$1/cpuset.cpus"
    cat "\${hierarchy}cpuset.mems" >"$hierarchy$1/cpuset.mems"
    echo 1 >"$hierarchy$1/cgroup.clone_children"
  fi
  echo $$ >"$hierarchy$1/cgroup.procs"
done
shift
exec "$@"
`;
