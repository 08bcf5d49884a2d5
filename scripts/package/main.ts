/** `npm run package`: builds the packages of a release. Reproducible: the same commit and SOURCE_DATE_EPOCH yield the
 *  same bytes. Offline, once the parts of another architecture are in .cache/. */
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import packageFile from '../../package.json' with { type: 'json' };
import { readArguments } from '../arguments.ts';
import { buildProducts, checksums, type Product, type ProductOptions } from './products.ts';
import { readRelease } from './release.ts';

const REPOSITORY = resolve(import.meta.dirname, '../..');
const ARCHITECTURES = ['x64', 'arm64'];
const MEGABYTE = 1e6;

const USAGE = `npm run package [-- [options] [FOLDER]]

Builds the packages of both programs: Debian packages, tarballs, single files, bills of materials, the image of
control-plane-lite, the bundle for machines without a network, and SHA256SUMS. FOLDER is replaced; default dist/packages.

  --arch x64,arm64   architectures; default: this machine's. Images are only of this machine's
  --fast             compress little
  --no-images        without the image and the bundle for machines without a network

SOURCE_DATE_EPOCH sets the time in the packages; default: that of the commit.
`;

interface Job extends Omit<ProductOptions, 'arch'> {
  readonly folder: string;
  readonly architectures: readonly string[];
}

/** Levels: the default takes a minute for each program. */
const BEST = { zstd: 19, gzip: 9 };
const FAST = { zstd: 1, gzip: 1 };

function parseArguments(): Job {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    allowNegative: true,
    options: {
      arch: { type: 'string', default: process.arch },
      fast: { type: 'boolean', default: false },
      images: { type: 'boolean', default: true },
    },
  });
  const [folder = join(REPOSITORY, 'dist/packages'), further] = positionals;
  if (further !== undefined) throw new RangeError(`Unexpected argument '${further}'`);
  const architectures = values.arch.split(',');
  const unknown = architectures.find((arch) => !ARCHITECTURES.includes(arch));
  if (unknown !== undefined)
    throw new RangeError(`--arch: '${unknown}' is none of ${ARCHITECTURES.join(', ')}`);
  return {
    repository: REPOSITORY,
    folder: resolve(folder),
    architectures,
    release: readRelease(REPOSITORY, packageFile.version, process.env),
    levels: values.fast ? FAST : BEST,
    images: values.images,
  };
}

async function main(): Promise<void> {
  const { folder, architectures, ...options } = readArguments('package', USAGE, parseArguments);
  const products: Product[] = [];
  for (const arch of architectures) products.push(...(await buildProducts({ ...options, arch })));
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const { name, content, isExecutable } of products) {
    await writeFile(join(folder, name), content, { mode: isExecutable === true ? 0o755 : 0o644 });
    console.log(`${(content.length / MEGABYTE).toFixed(1).padStart(7)} MB  ${name}`);
  }
  await writeFile(join(folder, 'SHA256SUMS'), checksums(products));
  console.log(`packages of ${options.release.version} are in ${folder}`);
}

await main();
