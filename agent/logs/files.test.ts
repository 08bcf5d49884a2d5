import { execFileSync } from 'node:child_process';
import { lstat, mkdir, mkdtemp, readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLogger } from '#api/kit/logger.ts';
import { createLogLinks } from './links.ts';
import { openRegularFile } from './open-log.ts';
import {
  containerIDOfLink,
  containerLinkName,
  containerLogPath,
  parsePodLogDirName,
  podLogDir,
} from './paths.ts';
import { lastLogLines } from './tail.ts';
import { findTailOffset } from './tail-offset.ts';
import { readTerminationMessage } from './termination-message.ts';

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-lf-');
  path = join(dir, 'file');
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

const pod = { namespace: 'ns', name: 'web-1', uid: 'u-1' };
const container = { namespace: 'ns', podName: 'web-1', containerName: 'app', containerID: 'abc123' };
const line = (text: string, tag = 'F') => `2026-11-21T10:00:00.5Z stdout ${tag} ${text}\n`;

describe('log paths', () => {
  test('have the format that collectors expect', () => {
    expect(podLogDir('/var/log/pods', pod)).toBe('/var/log/pods/ns_web-1_u-1');
    expect(containerLogPath('/var/log/pods', pod, 'app', 3)).toBe('/var/log/pods/ns_web-1_u-1/app/3.log');
    expect(containerLinkName(container)).toBe('web-1_ns_app-abc123.log');
  });

  test('are parsed back', () => {
    expect(parsePodLogDirName('ns_web-1_u-1')).toEqual(pod);
    for (const name of ['', 'x', 'a_b', 'a_b_', 'a_b_c_d']) expect(parsePodLogDirName(name)).toBeUndefined();
    expect(containerIDOfLink('web-1_ns_app-abc123.log')).toBe('abc123');
    expect(containerIDOfLink('readme')).toBeUndefined();
  });

  test('stay within the limit of file systems', () => {
    const long = containerLinkName({ ...container, podName: 'p'.repeat(253), containerID: 'f'.repeat(64) });
    expect(long).toHaveLength(255);
    expect(long.endsWith('.log')).toBe(true);
    expect(containerIDOfLink(long)).toBeUndefined();
  });
});

describe('createLogLinks', () => {
  test('creates, replaces and removes a link', async () => {
    const linksDir = join(dir, 'links');
    const links = createLogLinks({ log: silentLogger }, linksDir);
    const name = join(linksDir, 'web-1_ns_app-abc123.log');
    await links.link(container, '/a/0.log');
    await links.link(container, '/a/0.log');
    expect(await readlink(name)).toBe('/a/0.log');
    await links.link(container, '/b/0.log');
    expect(await readlink(name)).toBe('/b/0.log');
    await links.unlink(container);
    await links.unlink(container);
    expect(await readdir(linksDir)).toEqual([]);
  });

  test('removes only dangling links, and none of a live container', async () => {
    const links = createLogLinks({ log: silentLogger }, dir);
    await writeFile(join(dir, 'there'), '');
    await symlink(join(dir, 'there'), join(dir, 'a_ns_c-1.log'));
    await symlink(join(dir, 'gone'), join(dir, 'a_ns_c-2.log'));
    await symlink(join(dir, 'gone'), join(dir, 'a_ns_c-3.log'));
    await symlink(join(dir, 'gone'), join(dir, 'someone-elses'));
    await writeFile(join(dir, 'plain-4.log'), '');
    expect(await links.removeDead(new Set(['3']))).toEqual(['a_ns_c-2.log']);
    expect((await readdir(dir)).sort()).toEqual(
      ['a_ns_c-1.log', 'a_ns_c-3.log', 'plain-4.log', 'someone-elses', 'there'].sort(),
    );
  });

  test('removes nothing without a directory', async () => {
    const links = createLogLinks({ log: silentLogger }, join(dir, 'none'));
    expect(await links.removeDead(new Set())).toEqual([]);
  });
});

describe('readTerminationMessage', () => {
  test('returns the last bytes, cut at a character', async () => {
    await writeFile(path, 'all good');
    expect(await readTerminationMessage(path)).toBe('all good');
    await writeFile(path, `${'x'.repeat(5000)}end`);
    expect(await readTerminationMessage(path)).toBe(`${'x'.repeat(4093)}end`);
    await writeFile(path, 'é'.repeat(3000) + 'x');
    expect(await readTerminationMessage(path)).toBe(`${'é'.repeat(2047)}x`);
    await writeFile(path, '');
    expect(await readTerminationMessage(path)).toBe('');
  });

  test('ignores anything but a regular file', async () => {
    expect(await readTerminationMessage(path)).toBeUndefined();
    await writeFile(join(dir, 'secret'), 'secret');
    await symlink(join(dir, 'secret'), path);
    expect(await readTerminationMessage(path)).toBeUndefined();
    await rm(path);
    execFileSync('mkfifo', [path]);
    expect(await readTerminationMessage(path)).toBeUndefined();
    await rm(path);
    await mkdir(path);
    expect(await readTerminationMessage(path)).toBeUndefined();
    expect((await lstat(path)).isDirectory()).toBe(true);
    await symlink('/etc', join(dir, 'etc'));
    expect(await readTerminationMessage(join(dir, 'etc', 'hostname'), dir)).toBeUndefined();
  });
});

describe('lastLogLines', () => {
  test.each<[string, string, string]>([
    ['a short log whole', line('one') + line('two'), 'one\ntwo\n'],
    ['pieces joined', line('one') + line('tw', 'P') + line('o'), 'one\ntwo\n'],
    [
      'the last lines',
      Array.from({ length: 100 }, (_, n) => line(`${n}`)).join(''),
      Array.from({ length: 80 }, (_, n) => `${n + 20}\n`).join(''),
    ],
    [
      'the last bytes',
      line('a'.repeat(1500)) + line('b'.repeat(1500)),
      `${'a'.repeat(546)}\n${'b'.repeat(1500)}\n`,
    ],
    ['nothing of an empty log', '', ''],
  ])('yields %s', async (_, content, expected) => {
    await writeFile(path, content);
    expect(await lastLogLines(path)).toBe(expected);
  });

  test('reads only the end of a large log', async () => {
    await writeFile(path, line('x'.repeat(16_000)).repeat(200) + line('the end'));
    const text = await lastLogLines(path, 80, 2048);
    expect(text.endsWith('x\nthe end\n')).toBe(true);
    expect(text).toHaveLength(2048);
  });

  test('reads the previous file right after a rotation', async () => {
    await writeFile(`${path}.20261121-100000`, line('older'));
    await writeFile(`${path}.20261121-100100`, line('last words'));
    await writeFile(path, '');
    expect(await lastLogLines(path)).toBe('last words\n');
  });

  test('returns nothing without a log', async () => {
    expect(await lastLogLines(path)).toBe('');
  });
});

describe('findTailOffset', () => {
  test('agrees with counting lines forwards, whatever their lengths', async () => {
    const texts = fc.array(
      fc.record({ length: fc.oneof(fc.nat(50), fc.nat(40_000)), isPartial: fc.boolean() }),
      { maxLength: 12 },
    );
    await fc.assert(
      fc.asyncProperty(texts, fc.nat(6), async (lines, wanted) => {
        const pieces = lines.map(({ length, isPartial }) => line('z'.repeat(length), isPartial ? 'P' : 'F'));
        await writeFile(path, pieces.join(''));
        // Logical lines, each with the offset at which it starts.
        const starts: number[] = [];
        let offset = 0;
        let isFresh = true;
        for (const [index, piece] of pieces.entries()) {
          if (isFresh) starts.push(offset);
          isFresh = lines[index]?.isPartial === false;
          offset += piece.length;
        }
        const expected = wanted === 0 ? offset : (starts.at(-wanted) ?? 0);
        const { file, sizeBytes } = await openRegularFile(path);
        try {
          expect(await findTailOffset(file, sizeBytes, wanted)).toBe(expected);
        } finally {
          await file.close();
        }
      }),
      { numRuns: 60 },
    );
  });
});
