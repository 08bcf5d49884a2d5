import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventually } from '../../testing/wait.ts';
import type { ProgramOptions } from './contract.ts';
import { failText, MissingProgramError, ProgramTimeoutError } from './errors.ts';
import { findProgram } from './find-program.ts';
import { debianPackage, packageOf } from './packages.ts';
import { createRunProgram } from './run-program.ts';

const OPTIONS: ProgramOptions = { signal: new AbortController().signal, timeoutMs: 30_000 };
const run = createRunProgram();

describe('createRunProgram', () => {
  test('passes arguments unchanged, and separates exit code and both outputs', async () => {
    const result = await run('sh', ['-c', 'printf %s "$1"; printf no >&2; exit 3', 'x', '$(id) *'], OPTIONS);
    expect(result).toEqual({ code: 3, stdout: '$(id) *', stderr: 'no' });
  });

  test('passes on only the requested environment', async () => {
    const { stdout } = await run('env', [], { ...OPTIONS, env: { PASSWD: 'x' } });
    expect(stdout.trim().split('\n').toSorted()).toEqual([
      'LC_ALL=C',
      'PASSWD=x',
      'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ]);
  });

  test('has an empty standard input, or the given one', async () => {
    expect((await run('cat', [], OPTIONS)).stdout).toBe('');
    expect((await run('cat', [], { ...OPTIONS, input: 'secret' })).stdout).toBe('secret');
    // More than a pipe buffer, for a program that reads none of it.
    expect((await run('true', [], { ...OPTIONS, input: 'x'.repeat(1_000_000) })).code).toBe(0);
  });

  test('returns a mebibyte of output and discards the rest', async () => {
    const result = await run('head', ['-c', '3000000', '/dev/zero'], OPTIONS);
    expect(result.code).toBe(0);
    expect(result.stdout).toHaveLength(1024 * 1024);
  });

  test('reports the signal that ended a program', async () => {
    expect((await run('sh', ['-c', 'kill -9 $$'], OPTIONS)).code).toBe(128 + 9);
  });

  test('reports a missing program with its package, and never its arguments', async () => {
    const failed = run('mount.nfs-absent', ['password=x'], OPTIONS);
    await expect(failed).rejects.toThrow(MissingProgramError);
    await expect(failed).rejects.toThrow('the program mount.nfs-absent is not installed on this node');
    await expect(run('true', ['x'.repeat(5_000_000)], OPTIONS)).rejects.toThrow(
      'failed to start true: E2BIG',
    );
  });

  test('fails on timeout', async () => {
    const failed = run('sleep', ['600'], { ...OPTIONS, timeoutMs: 50 });
    await expect(failed).rejects.toThrow(ProgramTimeoutError);
    await expect(failed).rejects.toThrow('sleep did not finish within 0.05 s');
  });

  test('kills the program with its children on abort, and fails with the reason', async () => {
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

  test('does not wait for children that hold the pipes open', async () => {
    const { stdout } = await run('sh', ['-c', 'sleep 600 & echo $!'], OPTIONS);
    const pid = Number(stdout);
    expect(pid).toBeGreaterThan(1);
    process.kill(pid, 'SIGKILL');
  });

  test('runs only mount programs through the configured mounter', async () => {
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
  test('finds executable programs', async () => {
    expect(await findProgram('sh')).toMatch(/\/sh$/);
    expect(await findProgram('sh-absent')).toBeUndefined();
  });
});

describe('failText', () => {
  test.each([
    [
      { stderr: 'mount.nfs: access denied\n', stdout: 'x' },
      'p exited with code 32: mount.nfs: access denied',
    ],
    [{ stderr: '', stdout: 'bad\n' }, 'p exited with code 32: bad'],
    [{ stderr: '', stdout: '' }, 'p exited with code 32'],
    [{ stderr: 'one\n\u001b[31mtwo\n', stdout: '' }, 'p exited with code 32: one; [31mtwo'],
    [
      { stderr: 'options username=u,password=geheim,vers=3', stdout: '' },
      'p exited with code 32: options username=u,password=…,vers=3',
    ],
  ])('shows %j', (output, text) => {
    expect(failText('p', { code: 32, ...output })).toBe(text);
  });

  test('contains the end of long output', () => {
    const stderr = `${'early\n'.repeat(1000)}the reason\n`;
    const text = failText('p', { code: 1, stdout: '', stderr });
    expect(text).toMatch(/; the reason$/);
    expect(text.length).toBeLessThan(400);
  });
});

describe('debianPackage', () => {
  test('returns the package of a program, or its vendor', () => {
    expect(debianPackage('mount.nfs')).toBe('nfs-common');
    expect(debianPackage('mount.quobyte')).toBeUndefined();
    expect(packageOf('mkfs.xfs')).toBe('the Debian package xfsprogs');
    expect(packageOf('mount.quobyte')).toBe('the client package of Quobyte');
  });
});

async function tempDir(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp('/tmp/na-run-');
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) };
}
