/** Debian package from files in memory. Pure and deterministic. */
import { createHash } from 'node:crypto';
import { constants, zstdCompressSync } from 'node:zlib';
import { createTar, type TarEntry } from '#agent/runtime/managed/tar.ts';
import { createAr } from './ar.ts';

export interface DebDescription {
  /** Fields of `control` besides Installed-Size, in order. */
  readonly control: ReadonlyMap<string, string>;
  /** Files with relative paths, without folders. */
  readonly files: readonly TarEntry[];
  /** Absolute paths of files that belong to the administrator. */
  readonly conffiles: readonly string[];
  /** `postinst`, `prerm`, … */
  readonly scripts: Readonly<Record<string, string>>;
  readonly mtimeSeconds: number;
  /** Of zstd. */
  readonly level: number;
}

const KIBIBYTE = 1024;

export function compress(content: Uint8Array, level: number): Buffer {
  return zstdCompressSync(content, {
    params: { [constants.ZSTD_c_compressionLevel]: level, [constants.ZSTD_c_checksumFlag]: 1 },
  });
}

/** Sorts entries by path, and adds the folders that they need. Folders have mode 0755 unless given. */
export function withFolders(files: readonly TarEntry[]): readonly TarEntry[] {
  const found = new Map(files.map((entry) => [entry.path, entry]));
  for (const { path } of files) {
    const names = path.split('/').slice(0, -1);
    for (const [index] of names.entries()) {
      const folder = names.slice(0, index + 1).join('/');
      if (!found.has(folder)) found.set(folder, { kind: 'directory', path: folder, mode: 0o755 });
    }
  }
  return [...found.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

const below = (entry: TarEntry): TarEntry => ({ ...entry, path: `./${entry.path}` });

const sizeOf = (entry: TarEntry): number => (entry.kind === 'file' ? entry.content.length : 0);

function checksums(files: readonly TarEntry[]): string {
  return files
    .flatMap((entry) =>
      entry.kind === 'file'
        ? [`${createHash('md5').update(entry.content).digest('hex')}  ${entry.path}\n`]
        : [],
    )
    .join('');
}

function controlText(control: ReadonlyMap<string, string>, files: readonly TarEntry[]): string {
  const kibibytes = files.reduce((sum, entry) => sum + Math.ceil(sizeOf(entry) / KIBIBYTE) + 1, 0);
  return [...control, ['Installed-Size', String(kibibytes)] as const]
    .map(([name, value]) => `${name}: ${value}\n`)
    .join('');
}

export function buildDeb({
  control,
  files,
  conffiles,
  scripts,
  mtimeSeconds,
  level,
}: DebDescription): Buffer {
  const entries = withFolders(files);
  const text = (path: string, content: string, mode = 0o644): TarEntry => ({
    kind: 'file',
    path: `./${path}`,
    mode,
    content: Buffer.from(content),
  });
  const root: TarEntry = { kind: 'directory', path: './', mode: 0o755 };
  const about = createTar(
    [
      root,
      text('conffiles', conffiles.map((path) => `${path}\n`).join('')),
      text('control', controlText(control, entries)),
      text('md5sums', checksums(entries)),
      ...Object.entries(scripts).map(([name, script]) => text(name, script, 0o755)),
    ],
    { mtimeSeconds },
  );
  const data = createTar([root, ...entries.map(below)], { mtimeSeconds });
  return createAr(
    [
      { name: 'debian-binary', content: Buffer.from('2.0\n') },
      { name: 'control.tar.zst', content: compress(about, level) },
      { name: 'data.tar.zst', content: compress(data, level) },
    ],
    mtimeSeconds,
  );
}
