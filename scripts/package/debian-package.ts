/** Content of the Debian package of a program: its files where Debian has them, and its start rules. */
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { TarEntry } from '#agent/runtime/managed/tar.ts';
import { buildDeb } from './deb.ts';
import { type ProgramText, renderCompletion, renderManual } from './help-texts.ts';
import type { Release } from './release.ts';
import { fileEntry, under } from './tree.ts';

export interface DebianFacts {
  readonly name: string;
  readonly depends: readonly string[];
  readonly recommends: readonly string[];
  readonly about: readonly [synopsis: string, ...description: string[]];
  /** Sources of units, relative to the repository. */
  readonly units: readonly string[];
  /** Further files: source in the repository → target, mode. */
  readonly copies: readonly (readonly [source: string, target: string, mode: number])[];
  /** Empty folders: path, mode. */
  readonly folders: readonly (readonly [path: string, mode: number])[];
  readonly conffiles: readonly string[];
}

/** `process.arch` → Debian. */
export const DEBIAN_ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' };

const SCRIPTS = ['preinst', 'postinst', 'prerm', 'postrm'] as const;

/** Installed by Debian's package, the program is in /usr/lib instead of /usr/local/lib. */
const relocated = (text: string): string => text.replaceAll('/usr/local/lib/', '/usr/lib/');

const compressed = (text: string): Uint8Array => gzipSync(text, { level: 9 });

export interface DebianSources {
  readonly repository: string;
  readonly facts: DebianFacts;
  readonly tree: readonly TarEntry[];
  readonly text: ProgramText;
  readonly licences: string;
  readonly bom: string;
  readonly changelog: string;
  readonly release: Release;
  readonly arch: string;
  /** Of the compression. */
  readonly level: number;
}

async function packageFiles(sources: DebianSources): Promise<readonly TarEntry[]> {
  const { repository, facts, tree, text, release } = sources;
  const { name } = facts;
  const read = (path: string): Promise<string> => readFile(join(repository, path), 'utf8');
  const units = facts.units.map(async (unit) =>
    fileEntry(`usr/lib/systemd/system/${basename(unit)}`, relocated(await read(unit))),
  );
  const copies = facts.copies.map(async ([source, target, mode]) =>
    fileEntry(target, relocated(await read(source)), mode),
  );
  return [
    ...under(`usr/lib/${name}`, tree),
    { kind: 'symlink', path: `usr/bin/${name}`, target: `../lib/${name}/bin/${name}` },
    ...(await Promise.all([...units, ...copies])),
    ...facts.folders.map(([path, mode]): TarEntry => ({ kind: 'directory', path, mode })),
    fileEntry(`usr/share/man/man8/${name}.8.gz`, compressed(renderManual(text, release.mtimeSeconds))),
    fileEntry(`usr/share/bash-completion/completions/${name}`, renderCompletion(text)),
    fileEntry(`usr/share/doc/${name}/copyright`, sources.licences),
    fileEntry(`usr/share/doc/${name}/changelog.gz`, compressed(sources.changelog)),
    fileEntry(`usr/share/doc/${name}/sbom.cdx.json`, sources.bom),
  ];
}

export async function debianPackage(sources: DebianSources): Promise<Buffer> {
  const { repository, facts, release, arch, level } = sources;
  const [synopsis, ...description] = facts.about;
  const scripts = await Promise.all(
    SCRIPTS.map(async (script) => {
      const file = join(repository, 'scripts/package/debian', `${facts.name}.${script}`);
      return [script, await readFile(file, 'utf8')] as const;
    }),
  );
  return buildDeb({
    control: new Map([
      ['Package', facts.name],
      ['Version', release.debianVersion],
      ['Architecture', DEBIAN_ARCHITECTURES[arch] ?? arch],
      ['Maintainer', `The ${facts.name} authors <${facts.name}@localhost>`],
      ['Section', 'admin'],
      ['Priority', 'optional'],
      ['Depends', facts.depends.join(', ')],
      ...(facts.recommends.length === 0 ? [] : [['Recommends', facts.recommends.join(', ')] as const]),
      ['Description', `${synopsis}\n ${description.join('\n ')}`],
    ]),
    files: await packageFiles(sources),
    conffiles: facts.conffiles,
    scripts: Object.fromEntries(scripts),
    mtimeSeconds: release.mtimeSeconds,
    level,
  });
}
