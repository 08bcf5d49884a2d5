import { appendFile, mkdir, mkdtemp, rename, rm, rmdir, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import type { LogChunk } from './format.ts';
import { LogFileError } from './open-log.ts';
import { type ReadLogsOptions, readLogs } from './reader.ts';

let dir: string;
let path: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'na-logs-'));
  path = join(dir, '0.log');
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

const T = '2026-11-21T10:00:0';
const line = (second: number, text: string, tag = 'F', stream = 'stdout'): string =>
  `${T}${second}.5Z ${stream} ${tag} ${text}\n`;
const never = new AbortController().signal;

async function read(options: ReadLogsOptions): Promise<string> {
  let text = '';
  for await (const { chunk } of readLogs(path, options, never)) text += Buffer.from(chunk).toString();
  return text;
}

/** Reads in the background and lets a test wait for text. */
function follow(options: ReadLogsOptions, signal: AbortSignal = never) {
  let text = '';
  let notify = (): void => undefined;
  const done = (async () => {
    for await (const { chunk } of readLogs(path, { follow: true, ...options }, signal)) {
      text += Buffer.from(chunk).toString();
      notify();
    }
  })();
  return {
    done,
    text: () => text,
    async until(expected: string) {
      while (!text.includes(expected)) {
        await new Promise<void>((resolve) => {
          notify = resolve;
        });
      }
    },
  };
}

describe('readLogs', () => {
  const content = [
    line(1, 'one'),
    line(2, 'tw', 'P'),
    line(3, 'err', 'F', 'stderr'),
    line(3, 'o', 'F'),
    'not a log line\n',
    line(4, 'three'),
  ].join('');

  test.each<[string, ReadLogsOptions, string]>([
    ['everything, pieces joined', {}, 'one\ntwerr\no\nthree\n'],
    ['the last line', { tailLines: 1 }, 'three\n'],
    ['nothing for tail 0', { tailLines: 0 }, ''],
    ['all lines when there are fewer', { tailLines: 50 }, 'one\ntwerr\no\nthree\n'],
    ['lines since a time', { sinceMs: Date.parse(`${T}3Z`) }, 'err\no\nthree\n'],
    ['a byte limit inside a line', { limitBytes: 6 }, 'one\ntw'],
    [
      'timestamps once a line',
      { timestamps: true },
      `${T}1.500000000Z one\n${T}2.500000000Z tw${T}3.500000000Z err\no\n${T}4.500000000Z three\n`,
    ],
  ])('yields %s', async (_, options, expected) => {
    await writeFile(path, content);
    expect(await read(options)).toBe(expected);
  });

  test('counts seconds back from the clock', async () => {
    await writeFile(path, content);
    const clock = createFakeClock(Date.parse(`${T}5Z`));
    expect(await read({ sinceSeconds: 1, clock })).toBe('three\n');
  });

  test('separates the streams', async () => {
    await writeFile(path, content);
    const streams: LogChunk['stream'][] = [];
    for await (const { stream } of readLogs(path, {}, never)) streams.push(stream);
    expect(streams).toEqual(['stdout', 'stderr', 'stdout']);
  });

  test('yields a last line without newline when not following', async () => {
    await writeFile(path, line(1, 'torn').trimEnd());
    expect(await read({})).toBe('torn');
  });

  test.each([
    ['everything', {}, 2],
    ['the last line', { tailLines: 1 }, 1],
  ] as const)('ends although the container writes while %s is read', async (_, options, lines) => {
    const long = 'x'.repeat(200_000);
    await writeFile(path, line(1, long) + line(2, long));
    let text = '';
    for await (const { chunk } of readLogs(path, options, never)) {
      text += Buffer.from(chunk).toString();
      await appendFile(path, line(3, 'later'));
    }
    expect(text).toBe(`${long}\n`.repeat(lines));
  });

  test('follows appends and a rotation, and ends after the stop with everything', async () => {
    await writeFile(path, line(1, 'a'));
    const stop = new AbortController();
    const reader = follow({ stopped: stop.signal });
    await reader.until('a\n');
    await appendFile(path, line(2, 'b').slice(0, 20));
    await appendFile(path, line(2, 'b').slice(20));
    await reader.until('b\n');
    await rename(path, `${path}.20261121-100000`);
    await appendFile(`${path}.20261121-100000`, line(3, 'late'));
    await reader.until('late\n');
    await writeFile(path, line(4, 'new'));
    await reader.until('new\n');
    await appendFile(path, line(5, 'last'));
    stop.abort();
    await reader.done;
    expect(reader.text()).toBe('a\nb\nlate\nnew\nlast\n');
  });

  test('misses nothing when two rotations happen at once', async () => {
    await writeFile(path, line(1, 'one'));
    const stop = new AbortController();
    const reader = follow({ stopped: stop.signal });
    await reader.until('one\n');
    await appendFile(path, line(2, 'two'));
    await rename(path, `${path}.20261121-100000`);
    await writeFile(`${path}.20261121-100010`, line(3, 'three'));
    await writeFile(path, line(4, 'four'));
    await reader.until('four\n');
    // The file is compressed while another takes its place.
    await rename(path, `${path}.20261121-100020`);
    await rm(`${path}.20261121-100000`);
    await rm(`${path}.20261121-100010`);
    await rename(`${path}.20261121-100020`, `${path}.20261121-100020.gz`);
    await writeFile(`${path}.20261121-100030`, line(5, 'five'));
    await writeFile(path, line(6, 'six'));
    await reader.until('six\n');
    stop.abort();
    await reader.done;
    expect(reader.text()).toBe('one\ntwo\nthree\nfour\nfive\nsix\n');
  });

  test('restarts when the file was truncated', async () => {
    await writeFile(path, line(1, 'a long first line'));
    const stop = new AbortController();
    const reader = follow({ stopped: stop.signal });
    await reader.until('first line\n');
    await writeFile(path, line(2, 'x'));
    await reader.until('x\n');
    stop.abort();
    await reader.done;
    expect(reader.text()).toBe('a long first line\nx\n');
  });

  test('ends when the directory is removed', async () => {
    await writeFile(path, line(1, 'a'));
    const reader = follow({});
    await reader.until('a\n');
    await rm(dir, { recursive: true });
    await reader.done;
    expect(reader.text()).toBe('a\n');
  });

  test('ends when the directory is removed some time after the file', async () => {
    await writeFile(path, line(1, 'a'));
    const reader = follow({});
    await reader.until('a\n');
    await rm(path);
    // Time to detect that the file is gone but the directory is not.
    await pause(100);
    await rmdir(dir);
    await reader.done;
    expect(reader.text()).toBe('a\n');
  });

  test('rejects with the reason of its signal', async () => {
    await writeFile(path, line(1, 'a'));
    const controller = new AbortController();
    const reader = follow({}, controller.signal);
    await reader.until('a\n');
    controller.abort(new Error('enough'));
    await expect(reader.done).rejects.toThrow('enough');
  });

  test('rejects a symlink, a directory, a path outside of the root, a missing file', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'na-logs-'));
    await writeFile(join(outside, '0.log'), line(1, 'secret'));
    await symlink(join(outside, '0.log'), path);
    await expect(read({})).rejects.toMatchObject({ reason: 'NotRegular' });
    await rm(path);
    await mkdir(path);
    await expect(read({})).rejects.toMatchObject({ reason: 'NotRegular' });
    await rm(path, { recursive: true });
    await expect(read({})).rejects.toMatchObject({ reason: 'NotFound' });
    await symlink(outside, join(dir, 'container'));
    path = join(dir, 'container', '0.log');
    await expect(read({ root: dir })).rejects.toMatchObject({ reason: 'Outside' });
    await expect(read({ root: dir })).rejects.toBeInstanceOf(LogFileError);
    await rm(outside, { recursive: true });
  });
});
