/** Version, time and commit of a release, from package.json and the checkout. */
import { execFileSync } from 'node:child_process';
import { checkoutCommit } from '#api/kit/git-commit.ts';

export interface Release {
  /** Version of package.json; a commit without tag has a suffix: `0.1.0+git20260102.1a2b3c4`. */
  readonly version: string;
  /** The same, sorted by Debian before the release: `0.1.0~git20260102.1a2b3c4`. */
  readonly debianVersion: string;
  readonly commit: string;
  /** Time of everything in the packages, in seconds since the epoch. */
  readonly mtimeSeconds: number;
}

export interface ReleaseFacts {
  readonly packageVersion: string;
  /** Tag of the commit: `v0.1.0`. */
  readonly tag: string | undefined;
  readonly commit: string;
  readonly commitSeconds: number;
  /** SOURCE_DATE_EPOCH. */
  readonly epoch: string | undefined;
}

/** Pure. @throws RangeError if the tag is not that of package.json, or the time is no number */
export function decideRelease(facts: ReleaseFacts): Release {
  const { packageVersion, tag, commit, commitSeconds, epoch } = facts;
  if (epoch !== undefined && !/^\d{1,11}$/.test(epoch))
    throw new RangeError(`SOURCE_DATE_EPOCH: ${JSON.stringify(epoch)} is not a number of seconds`);
  if (tag !== undefined && tag !== `v${packageVersion}`)
    throw new RangeError(`tag ${tag}, but package.json has version ${packageVersion}: change one of them`);
  const date = new Date(commitSeconds * 1000).toISOString().slice(0, 10).replaceAll('-', '');
  const suffix = tag === undefined ? `git${date}.${commit.slice(0, 7)}` : '';
  return {
    version: suffix === '' ? packageVersion : `${packageVersion}+${suffix}`,
    debianVersion: suffix === '' ? packageVersion : `${packageVersion}~${suffix}`,
    commit,
    mtimeSeconds: epoch === undefined ? commitSeconds : Number(epoch),
  };
}

function git(repository: string, ...args: readonly string[]): string | undefined {
  try {
    return execFileSync('git', ['-C', repository, ...args], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

/** Reads the checkout; without git, time and tag are unknown.
 *  @throws RangeError */
export function readRelease(
  repository: string,
  packageVersion: string,
  environment: Readonly<Record<string, string | undefined>>,
): Release {
  const time = Number(git(repository, 'log', '-1', '--format=%ct') ?? 0);
  return decideRelease({
    packageVersion,
    tag: git(repository, 'describe', '--tags', '--exact-match', '--match', 'v[0-9]*'),
    commit: checkoutCommit(repository) ?? '0'.repeat(40),
    commitSeconds: Number.isSafeInteger(time) ? time : 0,
    epoch: environment['SOURCE_DATE_EPOCH'],
  });
}
