/** Diagnosis of a VM that does not respond, by QEMU's monitor and the VM's kernel. */
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { within } from '../command.ts';

const MONITOR_TIMEOUT_MS = 5000;
/** Time that the emulated kernel needs to print the state of all tasks. */
const KERNEL_SAYS_MS = 20_000;
const CONSOLE_CHARS = 4000;

/** Makes the kernel panic at `nmi`, and print the state of all tasks and CPUs. */
export const TELLS_AT_NMI = 'sysctl.kernel.panic_on_unrecovered_nmi=1 panic_print=0x41';

/** Returns the state of the VM: it may be paused because its disk is full, its kernel may be waiting, or its
 *  CPUs may spin. The VM is unusable afterwards.
 *  @param monitor socket of QEMU's monitor, which speaks QMP
 *  @param consoleLog file with the output of its console */
export async function explainSilence(monitor: string, consoleLog: string): Promise<string> {
  const before = await textOf(consoleLog);
  const [status = '', registers = ''] = await askMonitor(monitor, [
    'info status',
    'info registers -a',
    'nmi',
  ]).catch((thrown: unknown) => [String(thrown)]);
  if (registers === '') return `${status}\n${lastOf(before)}`;
  const positions = registers.split('\n').filter((line) => /^(?:CPU#|RIP)/.test(line));
  await wait(KERNEL_SAYS_MS);
  const said = (await textOf(consoleLog)).slice(before.length);
  return [status.trim(), ...positions, lastOf(before), essenceOf(said)].join('\n');
}

/** Returns the end of a console's output. */
export const lastOf = (text: string): string => `its console said:\n${text.slice(-CONSOLE_CHARS)}`;

/** Returns a console's output; empty without a console. */
export const textOf = (consoleLog: string): Promise<string> => readFile(consoleLog, 'utf8').catch(() => '');

/** Extracts from a panic: CPUs, uninterruptible tasks, and tasks that run commands for the host. */
function essenceOf(panic: string): string {
  const parts = panic.split(/^(?=\[[^\]]*\] (?:task:|sysrq: |Sending NMI|NMI backtrace|CPU: ))/m);
  const others = /^\[[^\]]*\] task:(?!bash|timeout|base64|flock)\S+ +state:[^D]/;
  return parts.filter((part) => !others.test(part)).join('');
}

/** Returns the responses to commands of the human monitor. @throws Error if one is missing */
async function askMonitor(socket: string, commands: readonly string[]): Promise<readonly string[]> {
  const connection = connect(socket);
  try {
    return await within(converse(connection, commands), MONITOR_TIMEOUT_MS, 'QEMU does not respond either');
  } finally {
    connection.destroy();
  }
}

async function converse(connection: Socket, commands: readonly string[]): Promise<readonly string[]> {
  await once(connection, 'connect');
  const requests = [
    { execute: 'qmp_capabilities' },
    ...commands.map((command) => ({
      execute: 'human-monitor-command',
      arguments: { 'command-line': command },
    })),
  ];
  connection.write(requests.map((request) => `${JSON.stringify(request)}\n`).join(''));
  const results: string[] = [];
  for await (const line of createInterface({ input: connection })) {
    const { return: response } = JSON.parse(line) as { readonly return?: unknown };
    if (typeof response === 'string') results.push(response);
    if (results.length === commands.length) break;
  }
  return results;
}
