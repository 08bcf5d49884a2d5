import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import type { ProgramOptions } from './contract.ts';
import { failText, MissingProgramError, ProgramTimeoutError } from './errors.ts';
import { findProgram } from './find-program.ts';
import { debianPackage, whatBrings } from './packages.ts';
import { createRunProgram } from './run-program.ts';

const OPTIONS: ProgramOptions = { signal: new AbortController().signal, timeoutMs: 30_000 };
const run = createRunProgram();

describe('createRunProgram', () => {
  test('gives arguments as they are, and keeps the three kinds of answers apart', async () => {
    const result = await run('sh', ['-c', 'printf %s "$1"; printf no >&2; exit 3', 'x', '$(id) *'], OPTIONS);
    expect(result).toEqual({ code: 3, stdout: '$(id) *', stderr: 'no' });
  });

  test('hands on nothing of its own environment but what is asked for', async () => {
    const { stdout } = await run('env', [], { ...OPTIONS, env: { PASSWD: 'x' } });
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      'LC_ALL=C',
      'PASSWD=x',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ]);
  });

  test('has an empty standard input, or the one that it was given', async () => {
    expect((await run('cat', [], OPTIONS)).stdout).toBe('');
    expect((await run('cat', [], { ...OPTIONS, input: 'secret' })).stdout).toBe('secret');
    // More than a pipe holds, for a program that reads none of it.
    expect((await run('true', [], { ...OPTIONS, input: 'x'.repeat(1_000_000) })).code).toBe(0);
  });

  test('keeps a mebibyte of what a program prints and reads the rest', async () => {
    const result = await run('head', ['-c', '3000000', '/dev/zero'], OPTIONS);
    expect(result.code).toBe(0);
    expect(result.stdout).toHaveLength(1024 * 1024);
  });

  test('tells the signal that ended a program', async () => {
    expect((await run('sh', ['-c', 'kill -9 $$'], OPTIONS)).code).toBe(128 + 9);
  });

  test('names a missing program with its package, and never its arguments', async () => {
    const failed = run('mount.nfs-absent', ['password=x'], OPTIONS);
    await expect(failed).rejects.toThrow(MissingProgramError);
    await expect(failed).rejects.toThrow('the program mount.nfs-absent is not installed on this node');
    await expect(run('true', ['x'.repeat(5_000_000)], OPTIONS)).rejects.toThrow(
      'true could not be started: E2BIG',
    );
  });

  test('ends with an error when the time is over', async () => {
    const failed = run('sleep', ['600'], { ...OPTIONS, timeoutMs: 50 });
    await expect(failed).rejects.toThrow(ProgramTimeoutError);
    await expect(failed).rejects.toThrow('sleep did not end within 0.05 s');
  });

  test('kills the program with its children when the caller gives up, and tells why', async () => {
    await using dir = await tempDir();
    const file = join(dir.path, 'pid');
    const stop = new AbortController();
    const failed = run('sh', ['-c', 'sleep 600 & echo $! >"$1"; wait', 'x', file], {
      ...OPTIONS,
      signal: stop.signal,
    });
    const pid = await eventually(async () => {
      const text = await readFile(file, 'utf8');
      return /^\d+\n$/.test(text) && Number(text);
    });
    stop.abort(new Error('the pod is gone'));
    await expect(failed).rejects.toThrow('the pod is gone');
    await eventually(async () => {
      const state = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
      return state === '' || /\) [ZX] /.test(state);
    });
    await expect(run('true', [], { ...OPTIONS, signal: stop.signal })).rejects.toThrow('the pod is gone');
  });

  test('does not wait for what a program leaves behind with its pipes open', async () => {
    const { stdout } = await run('sh', ['-c', 'sleep 600 & echo $!'], OPTIONS);
    const pid = Number(stdout);
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, 'SIGKILL');
  });

  test('runs programs that mount through another, and no others', async () => {
    await using dir = await tempDir();
    const mounter = join(dir.path, 'mounter');
    await writeFile(mounter, '#!/bin/sh\necho "mounter $*"\n');
    await chmod(mounter, 0o755);
    const through = createRunProgram({ mounterPath: mounter });
    expect((await through('mount.nfs', ['a:/b', '/c'], OPTIONS)).stdout).toBe('mounter mount.nfs a:/b /c\n');
    expect((await through('mount', ['-t', 'nfs'], OPTIONS)).stdout).toBe('mounter mount -t nfs\n');
    expect((await through('echo', ['x'], OPTIONS)).stdout).toBe('x\n');
  });
});

describe('findProgram', () => {
  test('finds what can be run', async () => {
    expect(await findProgram('sh')).toMatch(/\/sh$/);
    expect(await findProgram('sh-absent')).toBeUndefined();
  });
});

describe('failText', () => {
  test.each([
    [
      { stderr: 'mount.nfs: access denied\n', stdout: 'x' },
      'p ended with exit code 32: mount.nfs: access denied',
    ],
    [{ stderr: '', stdout: 'bad\n' }, 'p ended with exit code 32: bad'],
    [{ stderr: '', stdout: '' }, 'p ended with exit code 32'],
    [{ stderr: 'one\n\u001b[31mtwo\n', stdout: '' }, 'p ended with exit code 32: one; [31mtwo'],
    [
      { stderr: 'options username=u,password=geheim,vers=3', stdout: '' },
      'p ended with exit code 32: options username=u,password=…,vers=3',
    ],
  ])('tells %j', (output, text) => {
    expect(failText('p', { code: 32, ...output })).toBe(text);
  });

  test('keeps the end of long output', () => {
    const stderr = `${'early\n'.repeat(1000)}the reason\n`;
    const text = failText('p', { code: 1, stdout: '', stderr });
    expect(text).toMatch(/; the reason$/);
    expect(text.length).toBeLessThan(400);
  });
});

describe('debianPackage', () => {
  test('knows the package of a program, or who else brings it', () => {
    expect(debianPackage('mount.nfs')).toBe('nfs-common');
    expect(debianPackage('mount.quobyte')).toBeUndefined();
    expect(whatBrings('mkfs.xfs')).toBe('the Debian package xfsprogs');
    expect(whatBrings('mount.quobyte')).toBe('the client package of Quobyte');
  });
});

async function tempDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp('/tmp/na-run-');
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
