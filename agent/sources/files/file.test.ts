import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { appendFile, open } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createManifestReader } from '../manifest-set.ts';
import type { SourceSnapshot } from '../types.ts';
import { createFileSource, type FileSourceOptions } from './file.ts';
import type { WatchPath } from './file-watch.ts';

const readManifests = createManifestReader({
  clock: systemClock,
  nodeName: 'n1',
  vocabulary: VOCABULARIES.plat,
});

let base = '';
let dir = '';
let stop = new AbortController();
let running: Promise<void> = Promise.resolve();
let snapshots: SourceSnapshot[] = [];

beforeEach(() => {
  base = mkdtempSync('/tmp/na-src-');
  dir = join(base, 'manifests');
  mkdirSync(dir);
  stop = new AbortController();
  snapshots = [];
});

afterEach(async () => {
  stop.abort();
  await running;
  rmSync(base, { recursive: true, force: true });
});

function pod(name: string, image = 'busybox', extra = ''): string {
  return `apiVersion: v1\nkind: Pod\nmetadata: {name: ${name}}\nspec:\n  containers:\n  - {name: main, image: ${image}}\n${extra}`;
}

function put(name: string, text: string | Uint8Array): void {
  writeFileSync(join(base, 'incoming'), text);
  renameSync(join(base, 'incoming'), join(dir, name));
}

function start(options: Partial<FileSourceOptions> = {}, watchPath?: WatchPath): void {
  const deps = { clock: systemClock, log: silentLogger, readManifests };
  const source = createFileSource(
    { ...deps, ...(watchPath === undefined ? {} : { watchPath }) },
    { path: dir, checkMs: 20_000, graceMs: 300, goneMs: 60, ...options },
  );
  running = source.run(stop.signal, (snapshot) => snapshots.push(snapshot));
}

const last = (): SourceSnapshot | undefined => snapshots.at(-1);
const names = (): readonly string[] => (last()?.pods ?? []).map((entry) => entry.pod.metadata?.name ?? '');
const images = (): readonly string[] =>
  (last()?.pods ?? []).map((entry) => entry.pod.spec?.containers[0]?.image ?? '');
const fieldErrors = (): readonly string[] =>
  (last()?.rejected ?? []).map(
    ({ origin, errors }) => `${origin.location.slice(dir.length + 1)}: ${errors[0]?.detail ?? ''}`,
  );

async function until(check: () => void): Promise<void> {
  await vi.waitFor(check, { timeout: 10_000, interval: 2 });
}
const untilNames = (...expected: string[]): Promise<void> => until(() => expect(names()).toEqual(expected));

describe('createFileSource on a directory', () => {
  test('delivers everything at once, in order of file names', async () => {
    put('b.yaml', pod('b'));
    put(
      'a.yaml',
      `${pod('a1')}\n---\n${pod('a2')}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm}\n`,
    );
    put(
      'c.json',
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'List',
        items: [
          {
            apiVersion: 'v1',
            kind: 'Pod',
            metadata: { name: 'c' },
            spec: { containers: [{ name: 'm', image: 'i' }] },
          },
        ],
      }),
    );
    start();
    await untilNames('a1-n1', 'a2-n1', 'b-n1', 'c-n1');
    expect(snapshots).toHaveLength(1);
    expect(last()?.objects.map(({ object, origin }) => [object.metadata?.name, origin.document])).toEqual([
      ['cm', '3'],
    ]);
    expect(last()?.pods.map(({ origin }) => origin.document)).toEqual(['1', '2', '1', '1[0]']);
    expect(last()?.partial).toBeUndefined();
  });

  test('delivers an empty directory, too', async () => {
    start();
    await until(() => expect(snapshots).toEqual([{ source: 'file', pods: [], objects: [], rejected: [] }]));
  });

  test('sees a manifest renamed into place, over another, and away', async () => {
    start();
    await until(() => expect(snapshots).toHaveLength(1));
    put('a.yaml', pod('a', 'one'));
    await until(() => expect(images()).toEqual(['one']));
    const uid = last()?.pods[0]?.pod.metadata?.uid;
    put('a.yaml', pod('a', 'two'));
    await until(() => expect(images()).toEqual(['two']));
    expect(last()?.pods[0]?.pod.metadata?.uid).not.toBe(uid);
    rmSync(join(dir, 'a.yaml'));
    await untilNames();
  });

  test('delivers nothing for a touch, a comment, or a file rewritten with the same content', async () => {
    put('a.yaml', pod('a'));
    start();
    await untilNames('a-n1');
    put('a.yaml', pod('a'));
    put('a.yaml', `# a comment\n${pod('a')}`);
    put('z.yaml', pod('z'));
    await untilNames('a-n1', 'z-n1');
    expect(snapshots).toHaveLength(2);
    expect(snapshots[1]?.pods[0]).toBe(snapshots[0]?.pods[0]);
  });

  test('leaves dotfiles, editor and package leftovers unread', async () => {
    for (const name of [
      '.hidden.yaml',
      'a.yaml~',
      '.a.yaml.swp',
      'a.yaml.bak',
      '#a.yaml#',
      'a.yaml.dpkg-old',
      '4913',
    ]) {
      put(name, pod('leftover'));
    }
    mkdirSync(join(dir, 'sub'));
    put('a.yaml', pod('a'));
    start();
    await untilNames('a-n1');
    expect(last()?.rejected).toEqual([]);
  });

  test('follows a swapped ..data directory', async () => {
    const publish = (version: string): void => {
      mkdirSync(join(dir, `..${version}`));
      writeFileSync(join(dir, `..${version}`, 'a.yaml'), pod('a', version));
      symlinkSync(`..${version}`, join(dir, '..data_tmp'));
      renameSync(join(dir, '..data_tmp'), join(dir, '..data'));
    };
    publish('v1');
    symlinkSync('..data/a.yaml', join(dir, 'a.yaml'));
    start();
    await until(() => expect(images()).toEqual(['v1']));
    publish('v2');
    rmSync(join(dir, '..v1'), { recursive: true });
    await until(() => expect(images()).toEqual(['v2']));
    expect(snapshots.every((snapshot) => snapshot.pods.length === 1)).toBe(true);
  });

  test('retains the last good pods while a file is partially written, then uses the complete file', async () => {
    put('a.yaml', pod('a', 'one'));
    start({ graceMs: 60_000 });
    await until(() => expect(images()).toEqual(['one']));
    const text = pod('a', 'two');
    const file = await open(join(dir, 'a.yaml'), 'w');
    await file.write(text.slice(0, 30));
    await new Promise((resolve) => setTimeout(resolve, 60));
    await file.write(text.slice(30));
    await file.close();
    await until(() => expect(images()).toEqual(['two']));
    expect(snapshots).toHaveLength(2);
    expect(snapshots.flatMap((snapshot) => snapshot.rejected)).toEqual([]);
  });

  test('uses nothing that is still being written, even if it parses', async () => {
    // Much longer than the pauses of the writer.
    start({ settleMs: 1000, graceMs: 60_000 });
    await until(() => expect(snapshots).toHaveLength(1));
    const path = join(dir, 'a.yaml');
    writeFileSync(path, pod('a'));
    for (let i = 0; i < 8; i += 1) {
      await appendFile(path, `  - {name: more${i}, image: busybox}\n`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await until(() => expect(last()?.pods[0]?.pod.spec?.containers).toHaveLength(9));
    expect(snapshots).toHaveLength(2);
  });

  test('reports a file that stays invalid, retains its pods, and clears the error when it is fixed', async () => {
    put('a.yaml', pod('a', 'one'));
    start();
    await untilNames('a-n1');
    put('a.yaml', 'apiVersion: v1\nkind: Pod\nmetadata: {name: a');
    await until(() => expect(last()?.rejected).toHaveLength(1));
    expect(names()).toEqual(['a-n1']);
    expect(last()?.rejected[0]).toMatchObject({ origin: { location: join(dir, 'a.yaml'), document: '1' } });
    put('a.yaml', pod('a', 'two'));
    await until(() => expect(images()).toEqual(['two']));
    expect(last()?.rejected).toEqual([]);
  });

  test('uses the valid documents of a file next to a rejected one', async () => {
    put('a.yaml', `${pod('good')}\n---\n${pod('bad', 'busybox', '  nonsense: true\n')}`);
    start();
    await untilNames('good-n1');
    await until(() => expect(last()?.rejected).toHaveLength(1));
    expect(last()?.rejected[0]).toMatchObject({
      identity: 'Pod default/bad',
      origin: { document: '2' },
      errors: [{ field: 'spec.nonsense' }],
    });
  });

  test('an editor that moves the old file away before it writes the new one stops no pods', async () => {
    put('a.yaml', pod('a', 'one'));
    start({ goneMs: 60_000 });
    await untilNames('a-n1');
    renameSync(join(dir, 'a.yaml'), join(dir, 'a.yaml~'));
    await new Promise((resolve) => setTimeout(resolve, 20));
    writeFileSync(join(dir, 'a.yaml'), pod('a', 'two'));
    await until(() => expect(images()).toEqual(['two']));
    expect(snapshots.map((snapshot) => snapshot.pods.length)).toEqual([1, 1]);
  });

  test('a file renamed within the directory is not held back under its old name', async () => {
    put('a.yaml', pod('a'));
    start({ goneMs: 60_000 });
    await untilNames('a-n1');
    renameSync(join(dir, 'a.yaml'), join(dir, 'b.yaml'));
    await until(() =>
      expect(last()?.pods.map(({ origin }) => origin.location)).toEqual([join(dir, 'b.yaml')]),
    );
  });

  test('every kind of unusable file is named and stops no other', async () => {
    put('good.yaml', pod('good'));
    put('binary.yaml', Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]));
    put('latin1.yaml', Buffer.from([0x6b, 0x3a, 0x20, 0xe9, 0x0a]));
    put('huge.yaml', Buffer.alloc(10 * 1024 * 1024, 'a: b\n'));
    put('empty.yaml', '');
    const bomb = ['a: &a0 [x,x,x,x,x,x,x,x,x]'];
    for (let i = 1; i < 12; i += 1)
      bomb.push(
        `b${i}: &a${i} [${Array(9)
          .fill(`*a${i - 1}`)
          .join(',')}]`,
      );
    put('bomb.yaml', bomb.join('\n'));
    mkdirSync(join(dir, 'dir.yaml'));
    symlinkSync('nowhere', join(dir, 'dangling.yaml'));
    symlinkSync('loop.yaml', join(dir, 'loop.yaml'));
    symlinkSync('/dev/zero', join(dir, 'device.yaml'));
    execFileSync('mkfifo', [join(dir, 'fifo.yaml')]);
    const socket = createServer().listen(join(dir, 'socket.yaml'));
    start();
    await until(() => expect(last()?.rejected).toHaveLength(11));
    socket.close();
    expect(names()).toEqual(['good-n1']);
    expect(fieldErrors().map((error) => error.replace(/:.*/u, ''))).toEqual([
      'binary.yaml',
      'bomb.yaml',
      'dangling.yaml',
      'device.yaml',
      'dir.yaml',
      'empty.yaml',
      'fifo.yaml',
      'huge.yaml',
      'latin1.yaml',
      'loop.yaml',
      'socket.yaml',
    ]);
    expect(fieldErrors()).toContain('fifo.yaml: is a FIFO, not a regular file');
    expect(fieldErrors()).toContain('dangling.yaml: is a dangling symbolic link');
    expect(fieldErrors()).toContain('huge.yaml: has 10485760 bytes; the maximum is 3145728');
  });

  test('a hard link gives the same pod twice, for the merge to settle', async () => {
    put('a.yaml', pod('a'));
    linkSync(join(dir, 'a.yaml'), join(dir, 'b.yaml'));
    start();
    await untilNames('a-n1', 'a-n1');
    expect(last()?.rejected).toEqual([]);
  });

  test('waits for a directory that does not exist, whose parent does not either', async () => {
    rmSync(dir, { recursive: true });
    dir = join(base, 'x', 'y');
    start({ path: dir });
    await until(() => expect(last()).toEqual({ source: 'file', pods: [], objects: [], rejected: [] }));
    mkdirSync(dir, { recursive: true });
    put('a.yaml', pod('a'));
    await untilNames('a-n1');
    put('b.yaml', pod('b'));
    await untilNames('a-n1', 'b-n1');
  });

  test('follows a directory that is removed, created again, and replaced by rename', async () => {
    put('a.yaml', pod('a'));
    start();
    await untilNames('a-n1');
    rmSync(dir, { recursive: true });
    await untilNames();
    mkdirSync(dir);
    put('b.yaml', pod('b'));
    await untilNames('b-n1');
    mkdirSync(join(base, 'next'));
    writeFileSync(join(base, 'next', 'c.yaml'), pod('c'));
    renameSync(dir, join(base, 'old'));
    renameSync(join(base, 'next'), dir);
    await untilNames('c-n1');
    put('d.yaml', pod('d'));
    await untilNames('c-n1', 'd-n1');
    expect(last()?.rejected).toEqual([]);
  });

  test('follows a directory that is a symbolic link, and its swap', async () => {
    const real = dir;
    dir = join(base, 'link');
    symlinkSync(real, dir);
    start({ path: dir });
    await until(() => expect(snapshots).toHaveLength(1));
    put('a.yaml', pod('a'));
    await untilNames('a-n1');
    mkdirSync(join(base, 'other'));
    writeFileSync(join(base, 'other', 'b.yaml'), pod('b'));
    symlinkSync(join(base, 'other'), join(base, 'link2'));
    renameSync(join(base, 'link2'), dir);
    await untilNames('b-n1');
  });

  test('detects changes by the recheck without a watch', async () => {
    start({ checkMs: 30 }, () => Promise.reject(new Error('no inotify')));
    await until(() => expect(snapshots).toHaveLength(1));
    put('a.yaml', pod('a'));
    await untilNames('a-n1');
    put('a.yaml', pod('a', 'two'));
    await until(() => expect(images()).toEqual(['two']));
    rmSync(join(dir, 'a.yaml'));
    await untilNames();
  });

  test('a file with a future timestamp works', async () => {
    put('a.yaml', pod('a'));
    execFileSync('touch', ['-d', '2099-01-01', join(dir, 'a.yaml')]);
    chmodSync(join(dir, 'a.yaml'), 0o600);
    start();
    await untilNames('a-n1');
    expect(snapshots).toHaveLength(1);
  });

  test('many files at once', async () => {
    start();
    await until(() => expect(snapshots).toHaveLength(1));
    for (let i = 0; i < 110; i += 1) put(`p${i}.yaml`, pod(`p${i}`));
    await until(() => expect(names()).toHaveLength(110));
    expect(last()?.rejected).toEqual([]);
  });
});

describe('createFileSource on one file', () => {
  test('reads it, its replacement, its removal and its return', async () => {
    put('only.yaml', pod('a', 'one'));
    put('unrelated.yaml', pod('unrelated'));
    start({ path: join(dir, 'only.yaml') });
    await until(() => expect(images()).toEqual(['one']));
    put('only.yaml', pod('a', 'two'));
    await until(() => expect(images()).toEqual(['two']));
    writeFileSync(join(dir, 'only.yaml'), pod('a', 'three'));
    await until(() => expect(images()).toEqual(['three']));
    rmSync(join(dir, 'only.yaml'));
    await untilNames();
    put('only.yaml', pod('b'));
    await untilNames('b-n1');
    put('only.yaml', pod('c'));
    await untilNames('c-n1');
  });
});
