/** Files of a configMap, secret, downwardAPI or projected volume: relative path to content and mode.
 *  Pure. Source: KeyToPath and DownwardAPIVolumeFile, document 3 §2.3. */
import type { KeyToPath } from '#api/gen/core-v1.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

export interface PayloadFile {
  /** Permission bits, 0 to 0777. */
  readonly mode: number;
  readonly data: Buffer;
  /** Owner of the file; root by default. */
  readonly uid?: number;
}

/** By relative path; `checkPayload` validates it before it is written. */
export type Payload = ReadonlyMap<string, PayloadFile>;

export interface KeySelection {
  /** For messages: `ConfigMap default/app`. */
  readonly object: string;
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  /** Listed keys may be missing. */
  readonly optional: boolean;
}

export const DEFAULT_MODE = 0o644;
const MAX_PATH_BYTES = 4096;
const MAX_NAME_LENGTH = 255;

/** Returns the files for an object's keys: all of them under their own names, or the listed ones at their
 *  paths.
 *  @throws VolumeSetupError for a listed key that does not exist */
export function selectKeys(data: ReadonlyMap<string, Buffer>, selection: KeySelection): Payload {
  const { items, defaultMode, object, optional } = selection;
  if (items === undefined || items.length === 0) {
    return new Map([...data].map(([key, value]) => [key, { mode: defaultMode, data: value }]));
  }
  const payload = new Map<string, PayloadFile>();
  for (const item of items) {
    const value = data.get(item.key);
    if (value !== undefined) payload.set(item.path, { mode: item.mode ?? defaultMode, data: value });
    else if (!optional) throw new VolumeSetupError(`${object} has no key ${JSON.stringify(item.key)}`);
  }
  return payload;
}

/** Later files replace earlier ones at the same path. */
export function mergePayloads(payloads: readonly Payload[]): Payload {
  return new Map(payloads.flatMap((payload) => [...payload]));
}

function invalidPathReason(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (path.startsWith('/')) return 'is not relative';
  if (path.startsWith('..')) return 'starts with ".."';
  if (path.includes('\0')) return 'contains a NUL';
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`;
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..') return `has the element ${JSON.stringify(name)}`;
    if (Buffer.byteLength(name) > MAX_NAME_LENGTH)
      return `has an element longer than ${MAX_NAME_LENGTH} bytes`;
  }
  return undefined;
}

/** Normalizes a path: single slashes, no trailing one, no `.` element. */
function cleanPath(path: string): string {
  if (path.startsWith('/')) return path;
  return path
    .split('/')
    .filter((name, index) => (name !== '' && name !== '.') || (index === 0 && path === ''))
    .join('/');
}

/** Returns the payload with normalized paths, all inside the volume.
 *  @throws VolumeSetupError with the path and its validation error */
export function checkPayload(payload: Payload): Payload {
  const checked = new Map<string, PayloadFile>();
  const directories = new Set<string>();
  for (const [written, file] of payload) {
    const path = cleanPath(written);
    const reason = invalidPathReason(path);
    if (reason !== undefined)
      throw new VolumeSetupError(`path ${JSON.stringify(shorten(written))} ${reason}`);
    if (!Number.isInteger(file.mode) || file.mode < 0 || file.mode > 0o777) {
      throw new VolumeSetupError(`mode of ${JSON.stringify(path)} is not between 0 and 0777: ${file.mode}`);
    }
    checked.set(path, file);
    for (let end = path.indexOf('/'); end >= 0; end = path.indexOf('/', end + 1)) {
      directories.add(path.slice(0, end));
    }
  }
  for (const path of checked.keys()) {
    if (directories.has(path)) {
      throw new VolumeSetupError(`path ${JSON.stringify(path)} is both a file and a directory`);
    }
  }
  return checked;
}

const shorten = (text: string): string => (text.length > 100 ? `${text.slice(0, 100)}…` : text);
