/** Calls one network plugin: a program with its configuration on standard input. Source: the CNI specification,
 *  version 1.0, execution protocol. */
import { type ChildProcess, spawn } from 'node:child_process';
import { isObject, textOf } from '#api/kit/object.ts';
import { findProgram } from '#volumes/programs/find-program.ts';

export interface PluginCall {
  readonly command: 'ADD' | 'DEL';
  readonly type: string;
  readonly containerId: string;
  /** Path of the network namespace; may be empty for `DEL`. */
  readonly namespace: string;
  readonly args: string;
  readonly config: object;
}

export interface PluginDeps {
  /** Directories of plugins. */
  readonly binDirs: readonly string[];
  /** Program and arguments before those of the plugin; for plugins in another network namespace. */
  readonly prefix?: readonly string[];
}

/** A plugin that is missing, or reported an error. */
export class PluginError extends Error {
  override readonly name = 'PluginError';
}

const TIMEOUT_MS = 60_000;
const LARGEST_OUTPUT = 1024 * 1024;
const INTERFACE = 'eth0';

async function collect(
  child: ChildProcess,
  input: string,
): Promise<{ readonly code: number; readonly output: string }> {
  const parts: Buffer[] = [];
  let bytes = 0;
  child.stdout?.on('data', (chunk: Buffer) => {
    bytes += chunk.byteLength;
    if (bytes <= LARGEST_OUTPUT) parts.push(chunk);
    else child.kill('SIGKILL');
  });
  child.stdin?.on('error', () => undefined);
  child.stdin?.end(input);
  const code = await new Promise<number>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (status) => resolve(status ?? -1));
  });
  return { code, output: Buffer.concat(parts).toString('utf8') };
}

function parseOutput(output: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(output);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns the result of the plugin. @throws PluginError */
export async function callPlugin(
  { binDirs, prefix = [] }: PluginDeps,
  call: PluginCall,
): Promise<Readonly<Record<string, unknown>>> {
  const { type, command, config } = call;
  const path = await findProgram(type, binDirs);
  if (path === undefined) throw new PluginError(`network plugin ${type}: not found in ${binDirs.join(', ')}`);
  const [program, ...args] = [...prefix, path];
  const child = spawn(program, args, {
    stdio: ['pipe', 'pipe', 'ignore'],
    timeout: TIMEOUT_MS,
    killSignal: 'SIGKILL',
    env: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      CNI_COMMAND: command,
      CNI_CONTAINERID: call.containerId,
      CNI_NETNS: call.namespace,
      CNI_IFNAME: INTERFACE,
      CNI_ARGS: call.args,
      CNI_PATH: binDirs.join(':'),
    },
  });
  const { code, output } = await collect(child, JSON.stringify(config));
  const result = parseOutput(output);
  if (code === 0) return result;
  const reason = textOf(result['msg']) || `ended with exit code ${code}`;
  throw new PluginError(`network plugin ${type}: ${command}: ${reason}`);
}
