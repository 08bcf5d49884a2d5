import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { type AtomicWriterDeps, versionName, writePayload } from './atomic-writer.ts';
import { DIRECT, POOLED } from './file-calls.ts';
import type { Payload } from './payload.ts';
import { createSyscalls } from './syscalls.ts';

const parts: AtomicWriterDeps = { syscalls: createSyscalls(), clock: createFakeClock() };
const UMASK = Number.parseInt(
  /^Umask:\s*(\d+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '777',
  8,
);
const WAYS: readonly (readonly [string, Pick<AtomicWriterDeps, 'files' | 'umask'>])[] = [
  ['on the thread pool', { files: POOLED }],
  ['directly', { files: DIRECT }],
  ['with modes given at once', { files: DIRECT, umask: UMASK }],
];
let base: string;
let dir: string;

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'na-vol-aw-'));
  dir = join(base, 'volume');
  mkdirSync(dir);
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

const payloadOf = (files: Readonly<Record<string, string>>, mode = 0o644): Payload =>
  new Map(Object.entries(files).map(([path, text]) => [path, { mode, data: Buffer.from(text) }]));

/** Files that a container would see, by path. */
function visible(root: string, prefix = ''): Record<string, string> {
  const found: Record<string, string> = {};
  for (const name of readdirSync(root)) {
    if (prefix === '' && name.startsWith('..')) continue;
    const path = join(root, name);
    if (statSync(path).isDirectory()) Object.assign(found, visible(path, `${prefix}${name}/`));
    else found[`${prefix}${name}`] = readFileSync(path, 'utf8');
  }
  return found;
}

const versions = (): string[] => readdirSync(dir).filter((name) => /^\.\.\d/.test(name));

describe('versionName', () => {
  test('has the time and a random part', () => {
    expect(versionName(Date.UTC(2026, 10, 21, 10, 28, 39), 1_234_567_890)).toBe(
      '..2026_11_21_10_28_39.1234567890',
    );
  });
});

describe.each(WAYS)('writePayload %s', (_way, way) => {
  const deps = { ...parts, ...way };

  test('exposes each file through links', async () => {
    expect(await writePayload(deps, dir, payloadOf({ a: '1', 'sub/deep/b': '2' }, 0o440))).toBe(true);
    expect(readlinkSync(join(dir, 'a'))).toBe('..data/a');
    expect(readlinkSync(join(dir, 'sub'))).toBe('..data/sub');
    expect(readlinkSync(join(dir, '..data'))).toMatch(/^\.\.2023_11_14_22_13_20\.\d+$/);
    expect(statSync(join(dir, 'sub/deep/b')).mode & 0o7777).toBe(0o440);
    expect(statSync(join(dir, 'sub/deep')).mode & 0o7777).toBe(0o755);
    expect(visible(dir)).toEqual({ a: '1', 'sub/deep/b': '2' });
  });

  test('sets the mode of files that others may write', async () => {
    await writePayload(deps, dir, payloadOf({ a: '1', b: '2' }, 0o666), { isNew: true });
    expect(['a', 'b'].map((name) => statSync(join(dir, name)).mode & 0o7777)).toEqual([0o666, 0o666]);
    expect(visible(dir)).toEqual({ a: '1', b: '2' });
  });

  test('writes nothing when nothing changed', async () => {
    await writePayload(deps, dir, payloadOf({ a: '1', 's/b': '2' }));
    const before = readlinkSync(join(dir, '..data'));
    expect(await writePayload(deps, dir, payloadOf({ a: '1', 's/b': '2' }))).toBe(false);
    expect(readlinkSync(join(dir, '..data'))).toBe(before);
  });

  test.each([
    ['content', payloadOf({ a: '2' })],
    ['mode', payloadOf({ a: '1' }, 0o600)],
    ['a further file', payloadOf({ a: '1', b: '' })],
    ['no file', payloadOf({})],
  ])('writes a new version for another %s', async (_, payload) => {
    await writePayload(deps, dir, payloadOf({ a: '1' }));
    expect(await writePayload(deps, dir, payload)).toBe(true);
    expect(Object.keys(visible(dir)).sort()).toEqual([...payload.keys()].sort());
    expect(versions()).toHaveLength(1);
  });

  test('from any payload to any other shows exactly the last one', async () => {
    const name = fc.constantFrom('a', 'b', 'c.d', '.e', 'f-g');
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('/'));
    const payload = fc
      .dictionary(path, fc.string({ maxLength: 20 }), { maxKeys: 6 })
      .map((files) => dropConflicts(files));
    await fc.assert(
      fc.asyncProperty(fc.array(payload, { minLength: 1, maxLength: 4 }), async (history) => {
        const volume = mkdtempSync(join(base, 'p-'));
        for (const files of history) {
          await writePayload(deps, volume, payloadOf(files));
          expect(visible(volume)).toEqual(files);
        }
      }),
      { numRuns: 25 },
    );
  });

  test('never lets a reader see a mix', async () => {
    await writePayload(deps, dir, payloadOf({ a: '0', b: '0' }));
    const done = new AbortController();
    const writing = (async () => {
      for (let round = 1; round <= 30; round += 1) {
        await writePayload(deps, dir, payloadOf({ a: String(round), b: String(round) }));
      }
      done.abort();
    })();
    while (!done.signal.aborted) {
      const version = join(dir, readlinkSync(join(dir, '..data')));
      const [a, b] = [join(version, 'a'), join(version, 'b')].map((path) => readFileSync(path, 'utf8'));
      expect(a).toBe(b);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await writing;
    expect(visible(dir)).toEqual({ a: '30', b: '30' });
  });

  test('removes links to keys that are gone, and nothing else of that kind', async () => {
    await writePayload(deps, dir, payloadOf({ a: '1', 'old/x': '2' }));
    writeFileSync(join(dir, 'foreign'), 'stays');
    await writePayload(deps, dir, payloadOf({ a: '1' }));
    expect(visible(dir)).toEqual({ a: '1', foreign: 'stays' });
  });

  test('removes versions that a crash left', async () => {
    mkdirSync(join(dir, '..2020_01_01_00_00_00.1234567890/x'), { recursive: true });
    symlinkSync('..2020_01_01_00_00_00.1234567890', join(dir, '..data_tmp'));
    await writePayload(deps, dir, payloadOf({ a: '1' }));
    expect(versions()).toHaveLength(1);
    expect(readdirSync(dir)).not.toContain('..data_tmp');
  });
});

describe.each(WAYS)('writePayload %s in a volume where something was planted', (_way, way) => {
  const deps = { ...parts, ...way };

  let outside: string;
  beforeEach(() => {
    outside = join(base, 'outside');
    mkdirSync(outside);
    writeFileSync(join(outside, 'a'), 'untouched');
  });
  const seenOutside = (): Record<string, string> => visible(outside);

  test.each([
    ['..data as a link out', () => symlinkSync(outside, join(dir, '..data'))],
    ['..data as a relative link out', () => symlinkSync('../outside', join(dir, '..data'))],
    ['..data as a full directory', () => mkdirSync(join(dir, '..data/x/y'), { recursive: true })],
    ['..data as a file', () => writeFileSync(join(dir, '..data'), 'x')],
    ['..data_tmp as a full directory', () => mkdirSync(join(dir, '..data_tmp/x'), { recursive: true })],
    ['..data_tmp as a link out', () => symlinkSync(outside, join(dir, '..data_tmp'))],
    ['the key as a link out', () => symlinkSync(join(outside, 'a'), join(dir, 'a'))],
    ['the key as a full directory', () => mkdirSync(join(dir, 'a/b'), { recursive: true })],
    ['the key as a file', () => writeFileSync(join(dir, 'a'), 'x')],
  ])('replaces %s', async (_, plant) => {
    plant();
    await writePayload(deps, dir, payloadOf({ a: 'new' }));
    expect(visible(dir)).toEqual({ a: 'new' });
    expect(seenOutside()).toEqual({ a: 'untouched' });
  });

  test('does not trust a version that is a link out', async () => {
    await writePayload(deps, dir, payloadOf({ a: 'untouched' }));
    const version = readlinkSync(join(dir, '..data'));
    rmSync(join(dir, version), { recursive: true });
    symlinkSync(outside, join(dir, version));
    expect(await writePayload(deps, dir, payloadOf({ a: 'untouched' }))).toBe(true);
    expect(visible(dir)).toEqual({ a: 'untouched' });
  });

  test('rejects a volume that is itself a link', async () => {
    const link = join(base, 'link');
    symlinkSync(outside, link);
    await expect(writePayload(deps, link, payloadOf({ a: 'x' }))).rejects.toThrow(/ENOTDIR|ELOOP/);
    expect(seenOutside()).toEqual({ a: 'untouched' });
  });

  test('rejects a key that would leave the volume before it writes anything', async () => {
    await expect(writePayload(deps, dir, payloadOf({ ok: '1', '../outside/a': 'x' }))).rejects.toThrow(
      'starts with ".."',
    );
    expect(readdirSync(dir)).toEqual([]);
  });
});

/** Removes files whose path is a directory of another file. */
function dropConflicts(files: Readonly<Record<string, string>>): Record<string, string> {
  const paths = Object.keys(files);
  return Object.fromEntries(
    Object.entries(files).filter(([path]) => !paths.some((other) => other.startsWith(`${path}/`))),
  );
}
