/** Maintains a watch on a path, even when the file or directory there is replaced. */

import { realpath, stat } from 'node:fs/promises';
import { asError, hasCode } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Wait, Waits } from '#api/kit/waits.ts';
import type { PathChange, PathWatch, WatchPath } from './file-watch.ts';

/** Identity of the file at the path: changes when another directory takes its place. */
async function identifyPath(path: string): Promise<{ identity: string; real: string | undefined }> {
  try {
    const real = await realpath(path);
    const { dev, ino } = await stat(real, { bigint: true });
    return { identity: `${real} ${dev}:${ino}`, real };
  } catch (thrown) {
    if (hasCode(thrown, 'ENOENT', 'ENOTDIR')) return { identity: 'missing', real: undefined };
    throw thrown;
  }
}

export interface Watching {
  /** Watches the current file or directory at the path, if it was replaced. */
  follow(): Promise<void>;
  close(): Promise<void>;
}

export function createWatching(deps: {
  readonly log: Logger;
  readonly waits?: Pick<Waits, 'begin'> | undefined;
  readonly path: string;
  readonly watchPath: WatchPath;
  readonly onChange: (change: PathChange) => void;
}): Watching {
  const { log, path, onChange } = deps;
  let missing: Wait | undefined;
  let current: { readonly identity: string; readonly watch: PathWatch } | undefined;
  let warned = false;

  function onError(error: Error): void {
    if (!warned) log.warn({ err: error, path }, 'Failed to watch manifests; relying on periodic checks');
    warned = true;
  }

  async function close(): Promise<void> {
    const watch = current?.watch;
    current = undefined;
    await watch?.close();
  }

  return {
    close,
    async follow() {
      // Each new watch is followed by another check of its target.
      for (let round = 0; round < 3; round += 1) {
        const { identity, real } = await identifyPath(path);
        if (identity !== 'missing') {
          missing?.end();
          missing = undefined;
        }
        if (current?.identity === identity) return;
        await close();
        if (identity === 'missing') {
          log.warn({ path }, 'Manifest path does not exist');
          missing ??= deps.waits?.begin(`manifest path ${path}`, 'it does not exist', { logged: true });
        }
        try {
          current = { identity, watch: await deps.watchPath({ path, real }, { onChange, onError }) };
        } catch (thrown) {
          onError(asError(thrown));
          return;
        }
      }
    },
  };
}
