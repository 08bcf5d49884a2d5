import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { commandScript, copyProgram, findProgramFolder, type ProgramSpec } from './program.ts';

const SPEC: ProgramSpec = {
  name: 'p',
  files: ['agent/install/config.yaml', 'agent/install/systemd', 'docs/flags.md', 'package.json', 'LICENSE'],
};

describe('copyProgram', () => {
  test('copies an installed program unchanged, in place of the existing one', async () => {
    await using dir = await createTempDir();
    const installed = join(dir.path, 'installed');
    await mkdir(join(installed, 'dist'), { recursive: true });
    await mkdir(join(installed, 'docs'));
    await mkdir(join(installed, 'agent', 'install', 'systemd'), { recursive: true });
    const texts = [
      'dist/p.js',
      'agent/install/config.yaml',
      'agent/install/systemd/x.service',
      'docs/flags.md',
    ];
    for (const file of [...texts, 'package.json', 'LICENSE']) await writeFile(join(installed, file), file);
    const target = join(dir.path, 'target');
    await mkdir(target);
    await writeFile(join(target, 'old'), '');
    expect(findProgramFolder(join(installed, 'dist'), SPEC)).toBe(installed);
    await copyProgram(installed, target, SPEC);
    for (const file of texts) expect(await readFile(join(target, file), 'utf8')).toBe(file);
    expect((await stat(join(target, 'bin', 'node'))).mode & 0o777).toBe(0o755);
    await expect(stat(join(target, 'old'))).rejects.toThrow('ENOENT');
  });
});

describe('commandScript', () => {
  test('runs the installed program on its own Node', () => {
    expect(commandScript('/x', SPEC)).toBe('#!/bin/sh\nexec /x/bin/node /x/dist/p.js "$@"\n');
  });
});
