/** Rejects dependencies with a published vulnerability, an unapproved licence, or an install script that is not on
 *  the list. Usage: node scripts/dependencies/check.ts [--online]
 *  Advisories are a list in the repository, so that a check gives the same result everywhere. `--online` also
 *  queries the registry, and fails for what it reports. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '#api/kit/object.ts';
import { type Dependency, type Policy, readLock, readPolicy, violations } from './policy.ts';

const ROOT = join(import.meta.dirname, '../..');
const ONLINE_TIMEOUT_MS = 60_000;

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(ROOT, path), 'utf8'));

export const repositoryPolicy = (): Policy => readPolicy(readJson('scripts/dependencies/policy.json'));
export const repositoryLock = (): readonly Dependency[] => readLock(readJson('package-lock.json'));

/** Returns the output of `npm audit`, which exits with an error if it finds anything. */
function auditOutput(): string {
  try {
    return execFileSync('npm', ['audit', '--json', '--audit=true'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: ONLINE_TIMEOUT_MS,
    });
  } catch (error) {
    if (error instanceof Error && 'stdout' in error && typeof error.stdout === 'string') return error.stdout;
    throw error;
  }
}

/** Vulnerabilities known to the registry.
 *  @throws Error if the registry does not report any result */
function onlineViolations(): readonly string[] {
  const report: unknown = JSON.parse(auditOutput());
  const found = isObject(report) ? report['vulnerabilities'] : undefined;
  if (!isObject(found)) throw new Error('the registry did not report its advisories');
  return Object.keys(found).map(
    (name) => `${name}: the registry reports a vulnerability (npm audit shows it)`,
  );
}

function main(online: boolean): void {
  const found = [...violations(repositoryLock(), repositoryPolicy()), ...(online ? onlineViolations() : [])];
  for (const line of found) console.error(`dependencies: ${line}`);
  if (found.length > 0) process.exitCode = 1;
}

if (import.meta.main) main(process.argv.includes('--online'));
