/** Git commit of a program: recorded in the bundle's `package.json`, or read from the checkout that
 *  contains the sources. Reads files; never runs git. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** Shown if the commit is unknown. */
const UNKNOWN_COMMIT = 'unknown';

const COMMIT = /^[0-9a-f]{40}(?:[0-9a-f]{24})?$/;

function readText(...path: readonly string[]): string | undefined {
  try {
    return readFileSync(join(...path), 'utf8').trim();
  } catch {
    return undefined;
  }
}

const asCommit = (text: string | undefined): string | undefined =>
  text !== undefined && COMMIT.test(text) ? text : undefined;

/** Returns the commit of the bundle in this directory. */
function bundledCommit(dir: string): string | undefined {
  const text = readText(dir, 'package.json');
  return asCommit(/"gitCommit":\s*"([0-9a-f]+)"/.exec(text ?? '')?.[1]);
}

/** Returns the commit of the checkout, or the additional worktree, with this root. */
export function checkoutCommit(root: string): string | undefined {
  const link = /^gitdir: (.+)$/.exec(readText(root, '.git') ?? '')?.[1];
  const gitDir = link === undefined ? join(root, '.git') : resolve(root, link);
  const head = readText(gitDir, 'HEAD');
  const ref = /^ref: (refs\/[\w./-]+)$/.exec(head ?? '')?.[1];
  if (ref === undefined) return asCommit(head);
  const shared = resolve(gitDir, readText(gitDir, 'commondir') ?? '.');
  const packed = readText(shared, 'packed-refs')?.split('\n') ?? [];
  return (
    asCommit(readText(gitDir, ref)) ??
    asCommit(readText(shared, ref)) ??
    asCommit(packed.find((line) => line.endsWith(` ${ref}`))?.split(' ')[0])
  );
}

/** @param dir directory of the calling file: the bundle's, or a top-level folder of the checkout */
export const gitCommit = (dir: string): string =>
  bundledCommit(dir) ?? checkoutCommit(resolve(dir, '..')) ?? UNKNOWN_COMMIT;
