import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createFakeClock, systemClock } from '#api/kit/clock.ts';
import { createTempDir } from '../../../testing/temp.ts';
import { backupPath, createDescriptorWriter, type LogFileOptions, openLogFile } from './log-file.ts';

const DAY_MS = 86_400_000;

async function writeLines(
  lines: readonly string[],
  path: string,
  options: Partial<LogFileOptions> = {},
  startMs = Date.UTC(2026, 0, 1),
): Promise<readonly Error[]> {
  const clock = createFakeClock(startMs);
  const errors: Error[] = [];
  for (const line of lines) {
    const file = await openLogFile({ clock, onError: (error) => errors.push(error) }, { path, ...options });
    file.write(line);
    await file.close();
    await clock.advance(1000);
  }
  return errors;
}

describe('openLogFile', () => {
  test('appends lines, for its owner alone to read', async () => {
    await using dir = await createTempDir();
    const path = `${dir.path}/audit.log`;
    await writeLines(['one', 'two'], path);
    expect(await readFile(path, 'utf8')).toBe('one\ntwo\n');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  test('writes events that arrived while it was busy, in order', async () => {
    await using dir = await createTempDir();
    const path = `${dir.path}/audit.log`;
    const file = await openLogFile({ clock: createFakeClock(), onError: () => undefined }, { path });
    const lines = Array.from({ length: 1000 }, (_, index) => `line ${index}`);
    for (const line of lines) file.write(line);
    await file.close();
    expect(await readFile(path, 'utf8')).toBe(`${lines.join('\n')}\n`);
  });

  test('replaces the file before it grows too large, and retains some of the old ones', async () => {
    await using dir = await createTempDir();
    const path = `${dir.path}/audit.log`;
    await writeLines(['aaaa', 'bbbb', 'cccc', 'dddd'], path, { maxBytes: 6, maxBackups: 2 });
    const names = (await readdir(dir.path)).sort();
    expect(names).toEqual([
      'audit-2026-01-01T00-00-02.000.log',
      'audit-2026-01-01T00-00-03.000.log',
      'audit.log',
    ]);
    expect(await readFile(`${dir.path}/${names[0]}`, 'utf8')).toBe('bbbb\n');
    expect(await readFile(path, 'utf8')).toBe('dddd\n');
  });

  test('removes old files by their age, and touches no others', async () => {
    await using dir = await createTempDir();
    const path = `${dir.path}/audit.log`;
    await writeLines(['aaaa', 'bbbb'], path, { maxBytes: 6 });
    await writeLines(['x'], `${dir.path}/audit-other.log`);
    await writeLines(['cccc'], path, { maxBytes: 6, maxAgeMs: DAY_MS }, Date.UTC(2026, 0, 3));
    expect((await readdir(dir.path)).sort()).toEqual([
      'audit-2026-01-03T00-00-00.000.log',
      'audit-other.log',
      'audit.log',
    ]);
  });

  test('takes no more than it has room for', async () => {
    await using dir = await createTempDir();
    const file = await openLogFile(
      { clock: createFakeClock(), onError: () => undefined },
      { path: `${dir.path}/a.log`, maxWaitingBytes: 10 },
    );
    // The first is being written immediately and no longer waits.
    expect(['12345', '67890', '12345678', 'x'].map((line) => file.write(line))).toEqual([
      true,
      true,
      false,
      true,
    ]);
    await file.close();
  });

  test('goes on with the old file when there can be no new one', async () => {
    await using dir = await createTempDir();
    const path = `${dir.path}/audit.log`;
    const errors: Error[] = [];
    const clock = createFakeClock();
    const file = await openLogFile({ clock, onError: (error) => errors.push(error) }, { path, maxBytes: 3 });
    file.write('one');
    await rm(path);
    await clock.advance(1);
    file.write('two');
    await file.close();
    expect(errors).toMatchObject([{ code: 'ENOENT' }]);
  });

  test('reports lines that could not be written', async () => {
    const errors: number[] = [];
    const file = await openLogFile(
      { clock: createFakeClock(), onError: (_error, lost) => errors.push(lost) },
      { path: '/dev/full' },
    );
    file.write('lost');
    await file.close();
    expect(errors).toEqual([1]);
  });
});

test('backupPath puts the time before the extension', () => {
  expect(backupPath('/var/log/audit.log', Date.UTC(2026, 1, 3, 4, 5, 6, 7))).toBe(
    '/var/log/audit-2026-02-03T04-05-06.007.log',
  );
});

async function countBytes(file: FileHandle, most: number): Promise<number> {
  let count = 0;
  while (count < most) count += (await file.read(Buffer.alloc(50_000))).bytesRead;
  return count;
}

describe('createDescriptorWriter', () => {
  test('writes everything, also to a pipe that takes it only in parts', async () => {
    await using dir = await createTempDir();
    const path = `${dir.path}/pipe`;
    await promisify(execFile)('mkfifo', [path]);
    const pipe = await open(path, constants.O_RDWR | constants.O_NONBLOCK);
    const reading = await open(path, 'r');
    const counting = countBytes(reading, 1_000_000);
    const errors: Error[] = [];
    const writer = createDescriptorWriter(
      { clock: systemClock, onError: (error) => errors.push(error) },
      pipe.fd,
    );
    for (let line = 0; line < 1000; line += 1) writer.write('x'.repeat(999));
    await writer.close();
    expect([await counting, errors]).toEqual([1_000_000, []]);
    await Promise.all([pipe.close(), reading.close()]);
  });

  test('reports a closed descriptor', async () => {
    const lost: number[] = [];
    const writer = createDescriptorWriter(
      { clock: systemClock, onError: (_error, count) => lost.push(count) },
      9999,
    );
    writer.write('a');
    await writer.close();
    expect(lost).toEqual([1]);
  });
});
