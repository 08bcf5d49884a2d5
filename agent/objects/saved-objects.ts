/** Persisted objects of the API server, for use while it is unavailable: one encrypted file each, readable by root
 *  only. Pods do not reference PersistentVolumes or the objects named by them: they are retained as long as a
 *  persisted claim leads to them. */
import { mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseJsonText } from '#api/codec/json-text.ts';
import { asError } from '#api/kit/errno.ts';
import { createLimiter } from '#api/kit/limiter.ts';
import type { Logger } from '#api/kit/logger.ts';
import { isObject } from '#api/kit/object.ts';
import { dns1123LabelErrors, dns1123SubdomainErrors } from '#api/meta/names.ts';
import type { Json } from '../api-client/client.ts';
import { formatObjectKey, type ObjectKey } from './references.ts';
import { isSealed, openFile, sealFile } from './sealed-file.ts';
import type { SavedObjects } from './server-objects.ts';
import { referencesOfVolume } from './volume-references.ts';

export interface SavedObjectsDeps {
  /** `<rootDir>/api/objects`; created if missing. */
  readonly dir: string;
  /** Called once, before the first file is read or written. */
  readonly loadKey: () => Promise<Buffer>;
  readonly log: Logger;
}

/** Separator: object names contain no underscore. */
function fileName({ kind, namespace, name }: ObjectKey): string | undefined {
  if (dns1123SubdomainErrors(name).length > 0) return undefined;
  if (namespace !== '' && dns1123LabelErrors(namespace).length > 0) return undefined;
  return `${kind}_${namespace}_${name}.json`;
}

/** Returns the volume that a claim is bound to. */
function volumeOf(claim: Json | undefined): ObjectKey | undefined {
  const spec = claim?.['spec'];
  const name = isObject(spec) ? spec['volumeName'] : undefined;
  return typeof name === 'string' && name !== ''
    ? { kind: 'PersistentVolume', namespace: '', name }
    : undefined;
}

async function writePrivate(dir: string, name: string, content: Buffer): Promise<void> {
  const path = join(dir, name);
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const file = await open(`${path}.tmp`, 'w', 0o600);
  try {
    await file.writeFile(content);
    await file.datasync();
  } finally {
    await file.close();
  }
  await rename(`${path}.tmp`, path);
}

/** Loads the key when it is first needed, and again after a failure. */
function onceLoaded(loadKey: () => Promise<Buffer>): () => Promise<Buffer> {
  let loading: Promise<Buffer> | undefined;
  return async () => {
    loading ??= loadKey();
    try {
      return await loading;
    } catch (thrown) {
      loading = undefined;
      throw thrown;
    }
  };
}

export function createSavedObjects({ dir, loadKey, log }: SavedObjectsDeps): SavedObjects {
  const key = onceLoaded(loadKey);
  const turns = createLimiter(1);
  /** Pending writes, by file name. */
  const newest = new Map<string, Json | undefined>();

  async function write(name: string, object: Json): Promise<void> {
    await writePrivate(dir, name, sealFile(await key(), name, JSON.stringify(object)));
  }

  async function flush(name: string): Promise<void> {
    if (!newest.has(name)) return;
    const object = newest.get(name);
    newest.delete(name);
    if (object === undefined) await rm(join(dir, name), { force: true });
    else await write(name, object);
  }

  /** Earlier versions did not encrypt: their files are replaced when the object is persisted again. */
  async function textOf(name: string, bytes: Buffer): Promise<string> {
    return isSealed(bytes) ? openFile(await key(), name, bytes) : bytes.toString('utf8');
  }

  async function load(object: ObjectKey): Promise<Json | undefined> {
    const name = fileName(object);
    if (name === undefined) return undefined;
    if (newest.has(name)) return newest.get(name);
    const bytes = await readFile(join(dir, name)).catch(() => undefined);
    if (bytes === undefined) return undefined;
    try {
      const value: unknown = parseJsonText(await textOf(name, bytes));
      return isObject(value) ? value : undefined;
    } catch (thrown) {
      log.warn({ err: asError(thrown), object: formatObjectKey(object) }, 'Failed to read persisted object');
      return undefined;
    }
  }

  /** Ordered with the writes: later writes are retained. */
  async function clean(keys: readonly ObjectKey[]): Promise<void> {
    const claims = keys.filter(({ kind }) => kind === 'PersistentVolumeClaim');
    const volumes = (await Promise.all(claims.map(load))).flatMap((claim) => volumeOf(claim) ?? []);
    const led = (await Promise.all(volumes.map(load))).flatMap((volume) =>
      volume === undefined ? [] : referencesOfVolume(volume).names,
    );
    const retained = new Set([...keys, ...volumes, ...led].map(fileName));
    const names = await readdir(dir).catch(() => []);
    for (const name of names) if (!retained.has(name)) await rm(join(dir, name), { force: true });
  }

  return {
    load,
    save(named, object) {
      const name = fileName(named);
      if (name === undefined) return;
      newest.set(name, object);
      turns
        .run(() => flush(name))
        .catch((thrown: unknown) => {
          log.warn({ err: asError(thrown), object: formatObjectKey(named) }, 'Failed to persist object');
        });
    },
    retainOnly(keys) {
      turns
        .run(() => clean(keys))
        .catch((thrown: unknown) => {
          log.warn({ err: asError(thrown) }, 'Failed to clean up persisted objects');
        });
    },
  };
}

/** Persists nothing, for nodes without secrets on disk. */
export const NO_SAVED_OBJECTS: SavedObjects = {
  load: () => Promise.resolve(undefined),
  save: () => undefined,
  retainOnly: () => undefined,
};
