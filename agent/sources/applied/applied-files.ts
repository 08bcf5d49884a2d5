/** Directory of persisted applied objects: one file each, written atomically, readable by root only.
 *  Knows kinds only as part of file names. */

import { createHash, randomBytes } from 'node:crypto';
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError } from '#api/kit/errno.ts';

/** Identifies one applied object; `namespace` is empty for a PersistentVolume. */
export interface AppliedKey {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

export interface StoredManifest {
  readonly fileName: string;
  readonly manifest: unknown;
}

/** An unusable file. */
export interface BrokenFile {
  readonly fileName: string;
  readonly detail: string;
}

/** An applied object could not be persisted or removed; nothing changed. */
export class AppliedStoreError extends Error {
  override readonly name = 'AppliedStoreError';
  readonly reason = 'AppliedStoreFailed';
  readonly retryable = true;
}

export interface AppliedFiles {
  /** Reads all files, removes partial writes of a crash, and sets broken files aside.
   *  @throws AppliedStoreError */
  load(): Promise<{ readonly stored: readonly StoredManifest[]; readonly broken: readonly BrokenFile[] }>;
  /** @throws AppliedStoreError */
  save(fileName: string, manifest: unknown): Promise<void>;
  /** @throws AppliedStoreError */
  remove(fileName: string): Promise<void>;
}

const VERSION = 1;
const TEMPORARY = /^\.tmp-/;
const STORED = /\.json$/;
const LONGEST_NAME = 200;

/** File name of an object: readable, and never a path, whatever the key contains. */
export function appliedFileName({ kind, namespace, name }: AppliedKey): string {
  const parts = [kind, namespace === '' ? '_' : namespace, name];
  const text = parts.join('.').replaceAll(/[^A-Za-z0-9._-]/g, '_');
  const exact = parts.join('.');
  if (text === exact && text.length <= LONGEST_NAME) return `${text}.json`;
  const digest = createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 16);
  return `${text.slice(0, LONGEST_NAME)}.${digest}.json`;
}

type Parsed =
  | { readonly kind: 'manifest'; readonly manifest: unknown }
  | { readonly kind: 'foreign'; readonly detail: string }
  | { readonly kind: 'broken'; readonly detail: string };

function parseStored(text: string): Parsed {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (thrown) {
    return { kind: 'broken', detail: `is not valid JSON: ${asError(thrown).message}` };
  }
  if (typeof value !== 'object' || value === null || !('version' in value) || !('manifest' in value)) {
    return { kind: 'broken', detail: 'has no version or no manifest' };
  }
  if (value.version === VERSION) return { kind: 'manifest', manifest: value.manifest };
  // Written by a newer agent, which may be used again: keep it unchanged.
  return {
    kind: 'foreign',
    detail: `has version ${JSON.stringify(value.version)}; this agent reads ${VERSION}`,
  };
}

async function syncDirectory(dir: string): Promise<void> {
  const handle = await open(dir, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function writeDurably(dir: string, fileName: string, text: string): Promise<void> {
  const temporary = join(dir, `.tmp-${randomBytes(8).toString('hex')}`);
  try {
    const handle = await open(temporary, 'wx', 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, join(dir, fileName));
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  }
  await syncDirectory(dir);
}

export function createAppliedFiles(dir: string): AppliedFiles {
  async function attempt<T>(action: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (cause) {
      throw new AppliedStoreError(`${action} in ${dir} failed: ${asError(cause).message}`, { cause });
    }
  }

  async function setAside(fileName: string): Promise<void> {
    await rename(join(dir, fileName), join(dir, `${fileName}.broken`));
  }

  async function loadFiles(): Promise<Awaited<ReturnType<AppliedFiles['load']>>> {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    const names = (await readdir(dir)).toSorted();
    const stored: StoredManifest[] = [];
    const broken: BrokenFile[] = [];
    for (const fileName of names) {
      if (TEMPORARY.test(fileName)) await rm(join(dir, fileName), { force: true, recursive: true });
      if (TEMPORARY.test(fileName) || !STORED.test(fileName)) continue;
      const parsed = await readFile(join(dir, fileName), 'utf8').then(
        parseStored,
        (thrown: unknown): Parsed => ({
          kind: 'broken',
          detail: `cannot be read: ${asError(thrown).message}`,
        }),
      );
      if (parsed.kind === 'manifest') {
        stored.push({ fileName, manifest: parsed.manifest });
      } else {
        if (parsed.kind === 'broken') await setAside(fileName);
        broken.push({ fileName, detail: parsed.detail });
      }
    }
    return { stored, broken };
  }

  return {
    load: () => attempt('reading the applied objects', loadFiles),
    save: (fileName, manifest) =>
      attempt(`saving ${fileName}`, () =>
        writeDurably(dir, fileName, `${JSON.stringify({ version: VERSION, manifest })}\n`),
      ),
    remove: (fileName) =>
      attempt(`removing ${fileName}`, async () => {
        await rm(join(dir, fileName), { force: true });
        await syncDirectory(dir);
      }),
  };
}
