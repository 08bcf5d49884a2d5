/** The keyring of a file, reloaded when the file changes. A file that cannot be used leaves the previous keys in use. */
import { createHash } from 'node:crypto';
import { type FSWatcher, watch } from 'node:fs';
import { readFile, realpath } from 'node:fs/promises';
import { dirname } from 'node:path';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { EncryptionConfigError, parseEncryptionConfiguration } from './configuration.ts';
import type { Keyring } from './contract.ts';
import { closeKeyring, createKeyring, type KeyringDeps } from './keyring.ts';
import type { ReloadMetrics } from './metrics.ts';

export interface KeyringFileDeps extends KeyringDeps {
  readonly metrics: KeyringDeps['metrics'] & ReloadMetrics;
  readonly log: Logger;
  /** Domain of the API groups. */
  readonly domain: string;
  /** Resources of this server, without custom ones. */
  readonly resources: ReadonlySet<string>;
}

export interface KeyringFile {
  readonly keyring: () => Keyring;
  close(): void;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (thrown) {
    const cause = asError(thrown);
    throw new EncryptionConfigError(file, [cause.message], { cause });
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** @throws EncryptionConfigError */
function parse(deps: KeyringFileDeps, file: string, text: string): Keyring {
  return createKeyring(deps, parseEncryptionConfiguration(file, text, deps));
}

/** Folders in which a change of the file is visible: its own, and that of the file behind a link. */
async function foldersOf(file: string): Promise<readonly string[]> {
  return [...new Set([dirname(file), dirname(await realpath(file))])];
}

/** @throws EncryptionConfigError */
export async function openKeyringFile(deps: KeyringFileDeps, file: string): Promise<KeyringFile> {
  const text = await readText(file);
  let current = parse(deps, file, text);
  /** Of the newest content that was read: other changes in the folder are of no interest. */
  let digest = digestOf(text);
  let isClosed = false;
  let reloading: Promise<void> | undefined;
  let changedMeanwhile = false;
  const watchers: FSWatcher[] = [];

  async function reload(): Promise<void> {
    try {
      const next = await readText(file);
      if (digestOf(next) === digest) return;
      digest = digestOf(next);
      const previous = current;
      current = parse(deps, file, next);
      deps.metrics.reloaded(true);
      deps.log.info({ file }, 'Encryption configuration reloaded');
      closeKeyring(previous);
    } catch (thrown) {
      deps.metrics.reloaded(false);
      deps.log.error(
        { err: asError(thrown) },
        'Failed to reload encryption configuration; previous one still in use',
      );
    }
  }

  function onChange(): void {
    if (isClosed) return;
    if (reloading !== undefined) {
      changedMeanwhile = true;
      return;
    }
    changedMeanwhile = false;
    reloading = reload().finally(() => {
      reloading = undefined;
      if (changedMeanwhile) onChange();
    });
  }

  for (const folder of await foldersOf(file)) {
    const watcher = watch(folder, { persistent: false }, onChange);
    watcher.on('error', (err) => deps.log.error({ err, folder }, 'Failed to watch encryption configuration'));
    watchers.push(watcher);
  }
  // A change between the first read and the start of the watch.
  onChange();

  return {
    keyring: () => current,
    close() {
      isClosed = true;
      for (const watcher of watchers) watcher.close();
      closeKeyring(current);
    },
  };
}
