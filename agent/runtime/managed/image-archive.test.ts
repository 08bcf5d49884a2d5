import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { buildImageArchive } from './image-archive.ts';
import { describeBusyboxImage, describePauseImage } from './local-images.ts';
import { createTar, TarFieldError } from './tar.ts';

const run = promisify(execFile);

async function unpack(archive: Buffer, folder: string): Promise<void> {
  await mkdir(folder);
  await writeFile(`${folder}.tar`, archive);
  await run('tar', ['-xpf', `${folder}.tar`, '-C', folder]);
}

describe('createTar', () => {
  test('writes archives that tar reads', async () => {
    await using dir = await createTempDir();
    const archive = createTar([
      { kind: 'directory', path: 'a', mode: 0o1777 },
      { kind: 'file', path: 'a/ä', mode: 0o640, content: Buffer.from('x'.repeat(513)) },
      { kind: 'file', path: 'empty', mode: 0o755, content: Buffer.alloc(0) },
      { kind: 'symlink', path: 'link', target: '/a/b' },
    ]);
    const root = `${dir.path}/out`;
    await unpack(archive, root);
    expect((await lstat(`${root}/a`)).mode & 0o7777).toBe(0o1777);
    expect((await lstat(`${root}/a/ä`)).mode & 0o777).toBe(0o640);
    expect(await readFile(`${root}/a/ä`, 'utf8')).toBe('x'.repeat(513));
    expect(await readFile(`${root}/empty`, 'utf8')).toBe('');
    expect(await readlink(`${root}/link`)).toBe('/a/b');
  });

  test('rejects a path that does not fit', () => {
    expect(() => createTar([{ kind: 'symlink', path: 'x'.repeat(101), target: 'y' }])).toThrow(TarFieldError);
  });
});

describe('buildImageArchive', () => {
  const image = describeBusyboxImage(Buffer.from('program'), ['bin/sh', 'usr/bin/wget', 'linuxrc', 'bin/sh']);

  test('is an image layout whose blobs have the digests they are called by', async () => {
    await using dir = await createTempDir();
    const built = buildImageArchive(image, 'x64');
    const root = `${dir.path}/out`;
    await unpack(built.tar, root);
    const names = await readdir(`${root}/blobs/sha256`);
    expect(names).toHaveLength(3);
    for (const name of names) {
      const content = await readFile(`${root}/blobs/sha256/${name}`);
      expect(createHash('sha256').update(content).digest('hex')).toBe(name);
    }
    const index: unknown = JSON.parse(await readFile(`${root}/index.json`, 'utf8'));
    expect(index).toMatchObject({
      manifests: [
        {
          digest: built.manifestDigest,
          annotations: { 'io.containerd.image.name': 'docker.io/local/busybox:1' },
        },
      ],
    });
    const config: unknown = JSON.parse(
      await readFile(`${root}/blobs/sha256/${built.configDigest.slice(7)}`, 'utf8'),
    );
    expect(config).toMatchObject({ architecture: 'amd64', os: 'linux', config: { Cmd: ['/bin/sh'] } });
  });

  test('gives the same bytes for the same description, and others for another', () => {
    expect(buildImageArchive(image).tar.equals(buildImageArchive(image).tar)).toBe(true);
    const pause = buildImageArchive(describePauseImage(Buffer.from('a')));
    expect(buildImageArchive(describePauseImage(Buffer.from('b'))).configDigest).not.toBe(pause.configDigest);
  });
});

describe('describeBusyboxImage', () => {
  test('links each applet once, and only in program folders', () => {
    const image = describeBusyboxImage(Buffer.alloc(0), [
      'bin/sh',
      'usr/bin/wget',
      'linuxrc',
      '../x',
      'bin/sh',
    ]);
    const links = image.entries.filter((entry) => entry.kind === 'symlink').map((entry) => entry.path);
    expect(links).toEqual(['bin/sh', 'usr/bin/wget']);
  });
});
