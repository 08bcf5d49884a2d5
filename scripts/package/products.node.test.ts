import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../testing/temp.ts';
import { buildProducts, checksums, type ProductOptions } from './products.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');

test('two builds of the same release have the same bytes', { timeout: 300_000 }, async () => {
  await using dir = await createTempDir();
  // In place of Node, whose compression would take most of the time.
  const node = join(dir.path, 'node');
  await writeFile(node, 'node');
  const options: ProductOptions = {
    repository: REPOSITORY,
    release: {
      version: '1.0.0',
      debianVersion: '1.0.0',
      commit: 'c'.repeat(40),
      mtimeSeconds: 1_700_000_000,
    },
    arch: process.arch,
    levels: { zstd: 1, gzip: 1 },
    binaries: { node, licence: join(REPOSITORY, 'LICENSE'), modules: join(REPOSITORY, 'node_modules') },
    images: false,
  };
  const first = await buildProducts(options);
  expect(first.map(({ name }) => name)).toEqual(
    ['nodeagent', 'control-plane-lite'].flatMap((name) => [
      `${name}_1.0.0_${process.arch === 'x64' ? 'amd64' : process.arch}.deb`,
      `${name}-1.0.0-linux-${process.arch}.tar.gz`,
      `${name}-1.0.0-linux-${process.arch}`,
      `${name}-1.0.0-linux-${process.arch}.cdx.json`,
    ]),
  );
  expect(checksums(await buildProducts(options))).toBe(checksums(first));
});
