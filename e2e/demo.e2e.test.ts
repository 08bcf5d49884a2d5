/** `npm start` as a user sees it where the output is not a terminal. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { readdir, readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, describe, expect, test } from 'vitest';
import { demoLayout } from '#agent/demo/layout.ts';
import { createTempDir } from '../testing/temp.ts';
import { eventually } from '../testing/wait.ts';

const run = promisify(execFile);
const REPOSITORY = resolve(import.meta.dirname, '..');
const dir = await createTempDir();
const root = `${dir.path}/demo`;
const environment = { ...process.env, NODEAGENT_DEMO_ROOT: root };

interface Demo {
  readonly process: ChildProcess;
  readonly output: () => string;
  readonly ended: Promise<number | null>;
}

function startDemo(): Demo {
  const child = spawn(process.execPath, ['agent/demo/main.ts'], {
    cwd: REPOSITORY,
    env: environment,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const parts: Buffer[] = [];
  child.stdout.on('data', (part: Buffer) => parts.push(part));
  child.stderr.on('data', (part: Buffer) => parts.push(part));
  return {
    process: child,
    output: () => Buffer.concat(parts).toString(),
    ended: new Promise((resolveEnd) => child.once('exit', resolveEnd)),
  };
}

async function untilUp(demo: Demo): Promise<void> {
  await eventually(() => demo.output().includes('Ctrl-C stops the agent') || demo.process.exitCode !== null, {
    timeoutMs: 150_000,
    what: 'the demo is up',
  });
  expect(demo.output()).toMatch(/All 5 pods are running/);
}

async function interrupt(demo: Demo): Promise<void> {
  demo.process.kill('SIGINT');
  expect(await demo.ended).toBe(0);
}

/** Command lines of every process that runs from the demo's folder or in one of its containers. */
async function demoProcesses(): Promise<readonly string[]> {
  const { stdout } = await run('ps', ['-eo', 'args']);
  return stdout.split('\n').filter((line) => line.includes(root));
}

async function nodeagent(...args: readonly string[]): Promise<string> {
  const { stdout } = await run('./nodeagent', [...args], {
    cwd: REPOSITORY,
    env: environment,
  });
  return stdout;
}

afterAll(async () => {
  await run(process.execPath, ['agent/demo/main.ts', '--stop'], { cwd: REPOSITORY, env: environment });
  await dir[Symbol.asyncDispose]();
});

describe('npm start', () => {
  test('starts the pods of the examples and prints the next steps', async () => {
    const demo = startDemo();
    await untilUp(demo);
    for (const name of ['hello-web', 'mailbox', 'bakery', 'countdown', 'name-tag']) {
      expect(demo.output()).toContain(name);
    }
    expect(await nodeagent('ps')).toContain('hello-web');
    expect(await nodeagent('logs', 'name-tag')).toContain('small is enough');
    await interrupt(demo);
    // Its last output may arrive after its exit.
    await eventually(() => demo.output().includes('The pods keep running'), {
      what: 'it says that the pods run on',
    });
  });

  test('adopts the pods that keep running after Ctrl-C', async () => {
    const shims = await demoProcesses();
    expect(shims.filter((line) => line.includes('containerd-shim')).length).toBeGreaterThan(3);
    expect(shims.filter((line) => line.includes('bin.ts'))).toEqual([]);
    const demo = startDemo();
    await untilUp(demo);
    expect(demo.output()).toContain('containerd of an earlier start is still running');
    expect(demo.output()).not.toContain('restarts');
    await interrupt(demo);
  });

  test('removes everything with --stop', async () => {
    await run(process.execPath, ['agent/demo/main.ts', '--stop'], { cwd: REPOSITORY, env: environment });
    expect(await demoProcesses()).toEqual([]);
    expect(await readFile('/proc/self/mountinfo', 'utf8')).not.toContain(root);
    expect(await readdir(dir.path)).toEqual([]);
    const cgroups = await readdir('/sys/fs/cgroup', { withFileTypes: true });
    for (const { name } of cgroups.filter((entry) => entry.isDirectory())) {
      expect(await readdir(`/sys/fs/cgroup/${name}`)).not.toContain(demoLayout(root).name);
    }
  });
});
