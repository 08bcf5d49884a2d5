/** The policy for dependencies: which versions, licences and install scripts the repository accepts. Pure. */
import { isObject } from '#api/kit/object.ts';

/** One installed package of the lock file. */
export interface Dependency {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly licence: string;
  readonly hasInstallScript: boolean;
}

/** A published vulnerability: versions from `introduced` up to, but without, `fixed`. */
export interface Advisory {
  readonly id: string;
  readonly package: string;
  readonly introduced: string;
  readonly fixed: string;
}

interface LicenceException {
  readonly licence: string;
  readonly reason: string;
}

export interface Policy {
  readonly licences: readonly string[];
  /** By package; a name that ends with `*` covers all that start with the rest. */
  readonly licenceExceptions: Readonly<Record<string, LicenceException>>;
  /** Reasons by package. */
  readonly installScripts: Readonly<Record<string, string>>;
  readonly advisories: readonly Advisory[];
}

function objectAt(value: unknown, key: string, of: string): Readonly<Record<string, unknown>> {
  const member = isObject(value) ? value[key] : undefined;
  if (!isObject(member)) throw new Error(`${of}: ${key} must be an object`);
  return member;
}

function textAt(value: unknown, key: string, of: string): string {
  const member = isObject(value) ? value[key] : undefined;
  if (typeof member !== 'string' || member === '') throw new Error(`${of}: ${key} must be a text`);
  return member;
}

function listAt(value: unknown, key: string, of: string): readonly unknown[] {
  const member = isObject(value) ? value[key] : undefined;
  if (!Array.isArray(member)) throw new Error(`${of}: ${key} must be a list`);
  return member;
}

/** @throws Error for a file of another form */
export function readPolicy(file: unknown): Policy {
  const of = 'policy.json';
  const exceptions = objectAt(file, 'licenceExceptions', of);
  const scripts = objectAt(file, 'installScripts', of);
  return {
    licences: listAt(file, 'licences', of).map(String),
    licenceExceptions: Object.fromEntries(
      Object.entries(exceptions).map(([name, exception]) => [
        name,
        { licence: textAt(exception, 'licence', name), reason: textAt(exception, 'reason', name) },
      ]),
    ),
    installScripts: Object.fromEntries(
      Object.keys(scripts).map((name) => [name, textAt(scripts, name, 'installScripts')]),
    ),
    advisories: listAt(file, 'advisories', of).map((advisory) => ({
      id: textAt(advisory, 'id', of),
      package: textAt(advisory, 'package', of),
      introduced: textAt(advisory, 'introduced', of),
      fixed: textAt(advisory, 'fixed', of),
    })),
  };
}

/** Reads the packages of a lock file of version 3.
 *  @throws Error for a file of another form */
export function readLock(file: unknown): readonly Dependency[] {
  return Object.entries(objectAt(file, 'packages', 'package-lock.json'))
    .filter(([path]) => path !== '')
    .map(([path, entry]) => ({
      name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length),
      version: textAt(entry, 'version', path),
      licence: isObject(entry) && typeof entry['license'] === 'string' ? entry['license'] : 'none',
      hasInstallScript: isObject(entry) && entry['hasInstallScript'] === true,
    }));
}

const numbersOf = (version: string): readonly number[] =>
  version
    .replace(/[-+].*/s, '')
    .split('.')
    .map(Number);

/** Compares release numbers. A pre-release counts as its release.
 *  @returns a negative number if `left` is older, 0 if both are equal */
export function compareVersions(left: string, right: string): number {
  const [a, b] = [numbersOf(left), numbersOf(right)];
  const different = [0, 1, 2].find((index) => (a[index] ?? 0) !== (b[index] ?? 0));
  return different === undefined ? 0 : (a[different] ?? 0) - (b[different] ?? 0);
}

const isAffected = ({ name, version }: Dependency, advisory: Advisory): boolean =>
  name === advisory.package &&
  compareVersions(version, advisory.introduced) >= 0 &&
  compareVersions(version, advisory.fixed) < 0;

/** Whether one alternative of the expression is approved; expressions with AND need all parts. */
function isApproved(expression: string, licences: readonly string[]): boolean {
  const bare = expression.replaceAll(/[()]/g, '');
  return bare.split(' OR ').some((one) => one.split(' AND ').every((part) => licences.includes(part.trim())));
}

function exceptionFor(name: string, { licenceExceptions }: Policy): LicenceException | undefined {
  const key = Object.keys(licenceExceptions).find((pattern) =>
    pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern,
  );
  return key === undefined ? undefined : licenceExceptions[key];
}

/** Returns what is rejected: one line each, with the remedy. */
export function violations(dependencies: readonly Dependency[], policy: Policy): readonly string[] {
  return dependencies.flatMap((dependency) => {
    const { name, version, licence, hasInstallScript } = dependency;
    const found = policy.advisories
      .filter((advisory) => isAffected(dependency, advisory))
      .map(({ id, fixed }) => `${name} ${version} has ${id}: update it to ${fixed} or later`);
    if (!isApproved(licence, policy.licences) && exceptionFor(name, policy)?.licence !== licence) {
      found.push(`${name} ${version} has the licence ${licence}, which is not approved in policy.json`);
    }
    if (hasInstallScript && policy.installScripts[name] === undefined) {
      found.push(`${name} ${version} runs a script when it is installed, which policy.json does not allow`);
    }
    return found;
  });
}
