/** Third-party code in a package: licences, and a bill of materials. */
import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '#api/kit/object.ts';

export interface Component {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
  /** Text of the licence file. */
  readonly text: string;
  /** Digest of the registry: `sha512-…`; absent for Node, which the registry repackages. */
  readonly integrity: string | undefined;
}

const LICENCE_FILE = /^(?:licen[cs]e|copying)(?:[.-].*)?$/i;

const readJson = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'));

const textOf = (value: unknown, key: string): string | undefined => {
  const member = isObject(value) ? value[key] : undefined;
  return typeof member === 'string' ? member : undefined;
};

function dependenciesOf(value: unknown): readonly string[] {
  const member = isObject(value) ? value['dependencies'] : undefined;
  return isObject(member) ? Object.keys(member) : [];
}

function licenceText(folder: string): string {
  const file = readdirSync(folder).find((name) => LICENCE_FILE.test(name));
  return file === undefined ? '' : readFileSync(join(folder, file), 'utf8');
}

/** Returns the folder of a package as Node resolves it from another one. */
function resolvePackage(from: string, name: string, root: string): string | undefined {
  for (let folder = from; folder.startsWith(root); folder = join(folder, '..')) {
    const found = join(folder, 'node_modules', name);
    if (existsSync(join(found, 'package.json'))) return found;
  }
  return undefined;
}

/** Older packages list their licences as `licenses: [{type}]`. */
function declaredLicence(about: unknown): string | undefined {
  const older = isObject(about) && Array.isArray(about['licenses']) ? about['licenses'] : [];
  return (
    textOf(about, 'license') ?? older.map((each) => textOf(each, 'type')).find((type) => type !== undefined)
  );
}

/** Returns the runtime dependencies of the repository with those that they need, by name. Node itself is
 *  described by its own licence, which includes those of its parts. */
export function runtimeComponents(repository: string): readonly Component[] {
  const lock = readJson(join(repository, 'package-lock.json'));
  const packages = isObject(lock) && isObject(lock['packages']) ? lock['packages'] : {};
  const found = new Map<string, Component>();
  const visit = (from: string, name: string): void => {
    const folder = name === 'node' ? undefined : resolvePackage(from, name, repository);
    if (folder === undefined || found.has(folder)) return;
    const about = readJson(join(folder, 'package.json'));
    found.set(folder, {
      name,
      version: textOf(about, 'version') ?? '',
      licence: declaredLicence(about) ?? 'NOASSERTION',
      text: licenceText(folder),
      integrity: textOf(packages[folder.slice(repository.length + 1)], 'integrity'),
    });
    for (const next of dependenciesOf(about)) visit(folder, next);
  };
  for (const name of dependenciesOf(readJson(join(repository, 'package.json')))) visit(repository, name);
  return [...found.values()].toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
}

/** Renders the licences of a program and of the code in it. Pure. */
export function licencesText(own: string, components: readonly Component[]): string {
  return [
    own.trimEnd(),
    'This program contains the following third-party code.',
    ...components.map(
      ({ name, version, licence, text }) =>
        `${'-'.repeat(78)}\n${name} ${version} (${licence})\n\n${text.trimEnd()}`,
    ),
    '',
  ].join('\n\n');
}

/** Hexadecimal form of a digest of the registry. */
function hashOf(integrity: string): object {
  const [algorithm = '', digest = ''] = integrity.split('-', 2);
  return { alg: algorithm.replace('sha', 'SHA-'), content: Buffer.from(digest, 'base64').toString('hex') };
}

const licenceOf = (licence: string): object =>
  /[ ()]/.test(licence) ? { expression: licence } : { license: { id: licence } };

export interface BomSubject {
  readonly name: string;
  readonly version: string;
  readonly commit: string;
  readonly mtimeSeconds: number;
}

/** Renders a bill of materials. Pure and deterministic.
 *  @see https://cyclonedx.org/docs/1.5/json/ */
export function renderBom(subject: BomSubject, components: readonly Component[]): string {
  const list = components.map(({ name, version, licence, integrity }) => ({
    type: 'library',
    'bom-ref': `pkg:npm/${name}@${version}`,
    name,
    version,
    purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
    ...(licence === 'NOASSERTION' ? {} : { licenses: [licenceOf(licence)] }),
    ...(integrity === undefined ? {} : { hashes: [hashOf(integrity)] }),
  }));
  const hex = createHash('sha256')
    .update(JSON.stringify([subject, list]))
    .digest('hex');
  const uuid = `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
  const reference = `${subject.name}@${subject.version}`;
  const bom = {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuid}`,
    version: 1,
    metadata: {
      timestamp: new Date(subject.mtimeSeconds * 1000).toISOString(),
      component: {
        type: 'application',
        'bom-ref': reference,
        name: subject.name,
        version: subject.version,
        licenses: [{ license: { id: 'Apache-2.0' } }],
        properties: [{ name: 'commit', value: subject.commit }],
      },
    },
    components: list,
    dependencies: [{ ref: reference, dependsOn: list.map((each) => each['bom-ref']) }],
  };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}
