/** A virtual machine with a kernel of its own, emulated by QEMU: commands in it, reboot, power cut. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { createTempDir } from '../../testing/temp.ts';
import { type CommandResult, outputOf, within } from '../command.ts';
import { type Channel, createChannel, quote } from './channel.ts';
import { cachedVmImage, type DiskAddition, type VmImage } from './image.ts';
import { explainSilence, lastOf, TELLS_AT_NMI, textOf } from './monitor.ts';

export interface VmOptions {
  /** Archive that the VM has as its second disk, `/dev/vdb`. */
  readonly payload?: string;
  /** Cgroup driver of containers; `cgroupfs` by default. The agent needs the same setting. */
  readonly cgroupDriver?: CgroupDriver;
  /** Additions to the common disk. */
  readonly addition?: DiskAddition;
}

export type CgroupDriver = 'cgroupfs' | 'systemd';

export interface Vm extends AsyncDisposable {
  /** File with the output of its console. */
  readonly consoleLog: string;
  /** Runs a command in it and returns how it ended. */
  try(argv: readonly string[], timeoutMs?: number): Promise<CommandResult>;
  /** Runs a command in it and returns its output. @throws Error when it fails */
  run(argv: readonly string[], timeoutMs?: number): Promise<string>;
  /** Runs a shell script in it and returns its output. @throws Error when one of its commands fails */
  sh(script: string, timeoutMs?: number): Promise<string>;
  /** Writes a file in one step. */
  write(path: string, content: string): Promise<void>;
  /** Simulates a power failure: data that is not on its disk is lost. Resolves when it is up again. */
  cutPower(): Promise<void>;
}

const BOOT_TIMEOUT_MS = 120_000;
const COMMAND_TIMEOUT_MS = 60_000;
const MEMORY_MIB = 2048;
const execute = promisify(execFile);

interface Booted {
  readonly qemu: ChildProcess;
  readonly channel: Channel;
  readonly ended: Promise<string>;
}

/** Boots a VM on an overlay of the cached disk. Resolves when it accepts commands. */
export async function bootVm(options: VmOptions = {}): Promise<Vm> {
  const image = await cachedVmImage(options.addition);
  await using cleanup = new AsyncDisposableStack();
  const dir = cleanup.use(await createTempDir('na-vm-'));
  const overlay = `${dir.path}/disk`;
  const consoleLog = `${dir.path}/console`;
  const monitor = `${dir.path}/monitor`;
  await execute('qemu-img', ['create', '-q', '-f', 'qcow2', '-b', image.disk, '-F', 'raw', overlay]);
  const argv = machine(image, await clockArguments(), { overlay, consoleLog, monitor, ...options });
  let booted = start(argv);
  cleanup.defer(() => end(booted));
  await untilReady(booted, consoleLog);
  const kept = cleanup.move();

  const attempt = async (
    command: readonly string[],
    timeoutMs = COMMAND_TIMEOUT_MS,
  ): Promise<CommandResult> => {
    try {
      return await booted.channel.run(quote(command), timeoutMs);
    } catch (cause) {
      throw new Error(`${String(cause)}\n${await explainSilence(monitor, consoleLog)}`, { cause });
    }
  };
  const run = async (command: readonly string[], timeoutMs?: number): Promise<string> =>
    outputOf(command, await attempt(command, timeoutMs));
  const sh = (script: string, timeoutMs?: number): Promise<string> =>
    run(['bash', '-euc', script], timeoutMs);

  return {
    consoleLog,
    try: attempt,
    run,
    sh,
    async write(path, content) {
      const partial = path.replace(/[^/]*$/, '.$&');
      const text = Buffer.from(content).toString('base64');
      await sh(`base64 -d <<<${text} >${quote([partial])}; mv -f ${quote([partial, path])}`);
    },
    async cutPower() {
      await end(booted);
      booted = start(argv);
      await untilReady(booted, consoleLog);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** The kernel can't measure its clock on a busy host, and hangs then. The emulated processor counts as the host's. */
async function clockArguments(): Promise<string> {
  const mhz = /^cpu MHz\s*: ([0-9.]+)$/m.exec(await readFile('/proc/cpuinfo', 'utf8'))?.[1];
  return mhz === undefined ? '' : `tsc=reliable tsc_early_khz=${Math.round(Number(mhz) * 1000)}`;
}

interface VmFiles extends VmOptions {
  readonly overlay: string;
  readonly consoleLog: string;
  readonly monitor: string;
}

/** One CPU: with two, QEMU executes outdated instructions on one forever when the kernel patches them on the
 *  other, as it does at the first CPU quota of a pod. Without CPU features that cost more, emulated, than
 *  they save. */
const PROCESSOR = ['-cpu', 'max,-erms,-smap,-smep,-la57,-avx,-avx2', '-smp', '1'];

/** `cache=unsafe` spares the host the VM's flushes; what the VM flushed survives the end of QEMU all the same. */
function machine(image: VmImage, clock: string, files: VmFiles): readonly string[] {
  const { overlay, consoleLog, monitor, payload, cgroupDriver = 'cgroupfs' } = files;
  const services = `systemd.setenv=CGROUP_DRIVER=${cgroupDriver}`;
  const kernel = `console=ttyS0 loglevel=4 systemd.show_status=error mitigations=off panic=-1 ${TELLS_AT_NMI} ${services} ${clock}`;
  const groups: readonly (readonly string[])[] = [
    ['-M', 'microvm,pcie=off,rtc=on', '-no-user-config', '-nodefaults', '-no-reboot', '-display', 'none'],
    ['-accel', 'tcg', ...PROCESSOR, '-m', String(MEMORY_MIB)],
    ['-kernel', image.kernel, '-initrd', image.initrd, '-append', kernel],
    ['-chardev', `file,id=console,path=${consoleLog},append=on`, '-serial', 'chardev:console'],
    ['-qmp', `unix:${monitor},server=on,wait=off`],
    disk('system', `file=${overlay},format=qcow2,cache=unsafe`),
    payload === undefined ? [] : disk('payload', `file=${payload},format=raw,readonly=on`),
    ['-device', 'virtio-serial-device', '-chardev', 'stdio,id=commands,signal=off'],
    ['-device', 'virtserialport,chardev=commands,name=commands'],
  ];
  return groups.flat();
}

function disk(id: string, drive: string): readonly string[] {
  return ['-drive', `${drive},id=${id},if=none`, '-device', `virtio-blk-device,drive=${id}`];
}

function start(argv: readonly string[]): Booted {
  // It is stopped with the tests, however these end.
  const command = ['--pdeathsig', 'KILL', 'qemu-system-x86_64', ...argv];
  const qemu = spawn('setpriv', command, { stdio: ['pipe', 'pipe', 'pipe'] });
  let complaints = '';
  qemu.stderr.on('data', (part: Buffer) => {
    complaints += part.toString();
  });
  // Commands to a VM that has just stopped; their callers get an error.
  qemu.stdin.on('error', () => undefined);
  const ended = new Promise<string>((resolve) => {
    qemu.once('error', (error) => resolve(`the VM did not start: ${error.message}`));
    qemu.once('exit', (code, signal) => resolve(`the VM ended (${signal ?? code}): ${complaints}`));
  });
  return { qemu, ended, channel: createChannel(qemu.stdin, qemu.stdout, ended) };
}

async function untilReady(booted: Booted, consoleLog: string): Promise<void> {
  try {
    await within(booted.channel.ready, BOOT_TIMEOUT_MS, 'the VM did not come up');
  } catch (thrown) {
    throw new Error(`the VM did not boot; ${lastOf(await textOf(consoleLog))}`, { cause: thrown });
  }
}

async function end(booted: Booted): Promise<void> {
  if (booted.qemu.exitCode === null && booted.qemu.signalCode === null) booted.qemu.kill('SIGKILL');
  await booted.ended;
}
