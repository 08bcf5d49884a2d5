import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { buildDeb, type DebDescription } from './deb.ts';
import { fileEntry } from './tree.ts';

const PACKAGE: DebDescription = {
  control: new Map([
    ['Package', 'example'],
    ['Version', '1.0~git1'],
    ['Architecture', 'all'],
    ['Maintainer', 'A <a@localhost>'],
    ['Description', 'an example'],
  ]),
  files: [
    fileEntry('usr/lib/example/b', 'b', 0o755),
    fileEntry('etc/example.conf', 'c'),
    { kind: 'directory', path: 'etc/private', mode: 0o700 },
    { kind: 'symlink', path: 'usr/bin/example', target: '../lib/example/b' },
  ],
  conffiles: ['/etc/example.conf'],
  scripts: { postinst: '#!/bin/sh\n' },
  mtimeSeconds: 1_700_000_000,
  level: 1,
};

test('dpkg reads the package', async () => {
  await using dir = await createTempDir();
  const file = join(dir.path, 'example.deb');
  await writeFile(file, buildDeb(PACKAGE));
  const dpkg = (...args: readonly string[]): string =>
    execFileSync('dpkg-deb', [...args], {
      encoding: 'utf8',
      env: { ...process.env, TZ: 'UTC', LC_ALL: 'C' },
    });
  expect(dpkg('--field', file, 'Version', 'Installed-Size')).toMatch(
    /Version: 1\.0~git1\nInstalled-Size: \d+/,
  );
  expect(dpkg('--info', file, 'conffiles')).toBe('/etc/example.conf\n');
  expect(dpkg('--info', file, 'md5sums')).toContain('92eb5ffee6ae2fec3ad71c777531578f  usr/lib/example/b\n');
  const lines = dpkg('--contents', file).trim().split('\n');
  expect(lines.map((line) => line.replace(/ +/g, ' ').split(' ').slice(0, 2).join(' '))).toEqual([
    'drwxr-xr-x 0/0',
    'drwxr-xr-x 0/0',
    '-rw-r--r-- 0/0',
    'drwx------ 0/0',
    'drwxr-xr-x 0/0',
    'drwxr-xr-x 0/0',
    'lrwxrwxrwx 0/0',
    'drwxr-xr-x 0/0',
    'drwxr-xr-x 0/0',
    '-rwxr-xr-x 0/0',
  ]);
  expect(lines[2]).toContain('2023-11-14 22:13');
});

test('the order of the files does not matter', () => {
  const reversed = { ...PACKAGE, files: PACKAGE.files.toReversed() };
  expect(buildDeb(reversed).equals(buildDeb(PACKAGE))).toBe(true);
});
