/** Temporary directories with paths short enough for unix sockets. */
import { mkdtemp, rm } from 'node:fs/promises';
import { recordOwner } from './owners.ts';

export interface TempDir extends AsyncDisposable {
  readonly path: string;
}

/** Creates a directory under /tmp that is removed with its content at the end of the scope: `await using
 *  dir = await createTempDir()`. Unmount everything below it first. */
export async function createTempDir(prefix = 'na-'): Promise<TempDir> {
  const path = await mkdtemp(`/tmp/${prefix}`);
  await recordOwner(path);
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 3 }),
  };
}
