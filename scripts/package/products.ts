/** Products of one architecture: Debian packages, tarballs, single files, bills of materials, the image of the
 *  server, and the bundle for machines without a network. */
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { buildLocalImages } from '#agent/runtime/managed/images.ts';
import { createTar } from '#agent/runtime/managed/tar.ts';
import { CONTAINERD_CRI_NAMESPACE } from '#api/vocabulary.ts';
import { bundle, PROGRAM_ENTRIES } from '../bundle.ts';
import { type Component, licencesText, renderBom, runtimeComponents } from './components.ts';
import { withFolders } from './deb.ts';
import { DEBIAN_ARCHITECTURES, debianPackage } from './debian-package.ts';
import { serverImage } from './image.ts';
import { type NodeBinaries, nodeBinaries } from './node-binaries.ts';
import { programText } from './program-texts.ts';
import { type PackagedProgram, PROGRAMS } from './programs.ts';
import type { Release } from './release.ts';
import { selfExtracting } from './self-extracting.ts';
import { fileEntry, programTree, under } from './tree.ts';

export interface ProductOptions {
  readonly repository: string;
  readonly release: Release;
  readonly arch: string;
  /** Compression of Debian packages by zstd, and of the others by gzip. */
  readonly levels: { readonly zstd: number; readonly gzip: number };
  /** Instead of those that the architecture has. */
  readonly binaries?: NodeBinaries;
  /** Also the image and the bundle for machines without a network. */
  readonly images: boolean;
}

export interface Product {
  readonly name: string;
  readonly content: Buffer;
  readonly isExecutable?: boolean;
}

interface Shared extends ProductOptions {
  readonly binaries: NodeBinaries;
  readonly components: readonly Component[];
  readonly work: string;
}

async function nodeComponent({ repository, binaries }: Shared): Promise<Component> {
  const about: unknown = JSON.parse(await readFile(join(repository, 'package.json'), 'utf8'));
  const version = /"node":"([\d.]+)"/.exec(JSON.stringify(about))?.[1] ?? '';
  const text = await readFile(binaries.licence, 'utf8');
  return { name: 'node', version, licence: 'MIT', text, integrity: undefined };
}

async function programProducts(program: PackagedProgram, shared: Shared): Promise<readonly Product[]> {
  const { repository, release, arch, levels, binaries, work, images } = shared;
  const { name } = program.spec;
  const folder = join(work, name);
  await bundle(folder, PROGRAM_ENTRIES.get(name), { arch, modules: binaries.modules });
  const components = [await nodeComponent(shared), ...shared.components];
  const own = await readFile(join(repository, 'LICENSE'), 'utf8');
  const licences = licencesText(own, components);
  const bom = renderBom({ name, ...release }, components);
  const tree = await programTree({
    repository,
    bundle: folder,
    node: await readFile(binaries.node),
    spec: program.spec,
    generated: { LICENSE: licences, 'sbom.cdx.json': bom },
  });
  const deb = await debianPackage({
    repository,
    facts: program.debian,
    tree,
    text: await programText(program, release.version),
    licences,
    bom,
    changelog: await readFile(join(repository, 'CHANGELOG.md'), 'utf8'),
    release,
    arch,
    level: levels.zstd,
  });
  const label = `${name}-${release.version}-linux-${arch}`;
  const top = `${name}-${release.version}`;
  const tar = createTar(withFolders(under(top, tree)), release);
  const archive = gzipSync(tar, { level: levels.gzip });
  const isImaged = images && name === 'control-plane-lite' && arch === process.arch;
  const image = isImaged ? await serverImage(tree, binaries.node, release) : undefined;
  return [
    { name: `${name}_${release.debianVersion}_${DEBIAN_ARCHITECTURES[arch] ?? arch}.deb`, content: deb },
    { name: `${label}.tar.gz`, content: archive },
    { name: label, content: selfExtracting(archive, top, `bin/${name}`), isExecutable: true },
    { name: `${label}.cdx.json`, content: Buffer.from(bom) },
    ...(image === undefined
      ? []
      : [{ name: `${label}.oci.tar.gz`, content: gzipSync(image, { level: levels.gzip }) }]),
  ];
}

const AIR_GAP_README = `Everything for a machine without a network, besides Debian's own packages.

Compare the checksums, then install:

  sha256sum --check SHA256SUMS
  apt-get install ./nodeagent_*.deb              # a node; its dependencies come from a Debian mirror or medium
  apt-get install ./control-plane-lite_*.deb     # the API server

images/ has archives that a runtime imports:

  ctr --address /run/nodeagent-containerd/containerd.sock --namespace ${CONTAINERD_CRI_NAMESPACE} images import images/NAME
`;

/** Sums in the format of sha256sum. */
export function checksums(products: readonly Product[]): string {
  return products
    .map(({ name, content }) => `${createHash('sha256').update(content).digest('hex')}  ${name}\n`)
    .toSorted((a, b) => (a.slice(66) < b.slice(66) ? -1 : 1))
    .join('');
}

async function airGapBundle(
  products: readonly Product[],
  { release, arch }: ProductOptions,
): Promise<Product> {
  const images = (await buildLocalImages()).map((image) => ({
    name: `images/${image.name.split('/').at(-1)?.replace(':', '-')}.tar`,
    content: image.tar,
  }));
  const parts = [
    ...products
      .filter(({ name }) => name.endsWith('.deb') || name.endsWith('.oci.tar.gz'))
      .map(({ name, content }) => ({ name: name.endsWith('.deb') ? name : `images/${name}`, content })),
    ...images,
  ];
  const top = `airgap-${release.version}`;
  const entries = [
    ...parts.map(({ name, content }) => fileEntry(name, content)),
    fileEntry('SHA256SUMS', checksums(parts)),
    fileEntry('README', AIR_GAP_README),
  ];
  return {
    name: `${top}-linux-${arch}.tar`,
    content: createTar(withFolders(under(top, entries)), release),
  };
}

export async function buildProducts(options: ProductOptions): Promise<readonly Product[]> {
  const work = await mkdtemp(join(tmpdir(), 'package-'));
  try {
    const binaries = options.binaries ?? (await nodeBinaries(options.repository, options.arch));
    const shared = { ...options, binaries, components: runtimeComponents(options.repository), work };
    const products: Product[] = [];
    for (const program of PROGRAMS) products.push(...(await programProducts(program, shared)));
    const isBundled = options.images && options.arch === process.arch;
    return isBundled ? [...products, await airGapBundle(products, options)] : products;
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}
