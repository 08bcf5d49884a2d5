/** The API server as users start it: a process with the settings of the shipped script. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Target } from './http-client.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');

/** Returns the shipped script's settings for Node and the C library. */
export function launcherSettings(script: string): {
  readonly nodeFlags: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
} {
  const command = /^exec "\$node" (.*)$/m.exec(script)?.[1] ?? '';
  const nodeFlags = command.split(' ').filter((word) => word.startsWith('--'));
  const settings = [...script.matchAll(/^(MALLOC_[A-Z_]+)=\$\{[A-Z_]+:-(\S+)\}$/gm)];
  return {
    nodeFlags,
    environment: Object.fromEntries(settings.map(([, name = '', value = '']) => [name, value])),
  };
}

export interface PlaneProcess extends AsyncDisposable {
  readonly pid: number;
  /** Address and credentials of the administrator. */
  readonly target: Target;
}

export interface PlaneProgram {
  /** Node; that of this process by default. */
  readonly node?: string;
  /** Program for Node. */
  readonly program: string;
  readonly dataDir: string;
  /** In addition to the data directory, the address and the port. */
  readonly flags: readonly string[];
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts it on a free loopback port; resolves when it serves. @throws Error if it exits instead */
export async function startPlaneProcess(options: PlaneProgram): Promise<PlaneProcess> {
  const { node = process.execPath, program, dataDir, flags, env = {} } = options;
  const launcher = launcherSettings(await readFile(join(REPOSITORY, 'bin/control-plane-lite'), 'utf8'));
  const own = [`--data-dir=${dataDir}`, '--secure-port=0', '--bind-address=127.0.0.1'];
  const child = spawn(node, [...launcher.nodeFlags, program, ...own, ...flags], {
    env: { ...process.env, ...launcher.environment, ...env },
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  try {
    await served(child);
    return {
      pid: child.pid ?? 0,
      target: await targetOf(join(dataDir, 'admin.platconfig')),
      [Symbol.asyncDispose]: () => end(child),
    };
  } catch (thrown) {
    await end(child);
    throw thrown;
  }
}

/** Waits for the server's ready message. @throws Error if it exits instead */
async function served({ stdout }: ChildProcess): Promise<void> {
  if (stdout === null) throw new Error('the server has no output');
  for await (const line of createInterface({ input: stdout })) if (line.includes(' serves ')) return;
  throw new Error('the server exited before it was ready');
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGKILL');
  await gone;
}

/** Returns the first string member with that name in a JSON file. */
function textIn(file: string, name: string): string {
  const text = new RegExp(`"${name}": ?"([^"]*)"`).exec(file)?.[1];
  if (text === undefined) throw new Error(`the administrator's file has no ${name}`);
  return text;
}

async function targetOf(path: string): Promise<Target> {
  const file = await readFile(path, 'utf8');
  const pem = (name: string): string => Buffer.from(textIn(file, name), 'base64').toString();
  return {
    port: Number(new URL(textIn(file, 'server')).port),
    ca: pem('certificate-authority-data'),
    cert: pem('client-certificate-data'),
    key: pem('client-key-data'),
  };
}
