/** The files that a configMap, secret, downwardAPI or projected volume shows: relative path to content and mode.
 *  Pure. Spec: document 3, 2.3 (KeyToPath, DownwardAPIVolumeFile). */
import type { KeyToPath } from '#api/schema/gen/core-v1.ts';
import { VolumeSetupError } from './setup-error.ts';

export interface PayloadFile {
  /** Permission bits, 0 to 0777. */
  readonly mode: number;
  readonly data: Buffer;
  /** User that owns the file; root unless given. */
  readonly uid?: number;
}

/** By relative path; checked with `checkPayload` before it is written. */
export type Payload = ReadonlyMap<string, PayloadFile>;

export interface KeySelection {
  /** For messages: `ConfigMap default/app`. */
  readonly object: string;
  readonly items: readonly KeyToPath[] | undefined;
  readonly defaultMode: number;
  /** A listed key that is missing is left out. */
  readonly optional: boolean;
}

export const DEFAULT_MODE = 0o644;
const LONGEST_PATH = 4096;
const LONGEST_NAME = 255;

/** The files for an object's keys: all of them under their own names, or the listed ones at their paths.
 *  @throws VolumeSetupError for a listed key that the object hasn't got */
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

function pathFault(path: string): string | undefined {
  if (path === '') return 'is empty';
  if (path.startsWith('/')) return 'is not relative';
  if (path.startsWith('..')) return 'starts with ".."';
  if (path.includes('\0')) return 'contains a NUL';
  if (Buffer.byteLength(path) > LONGEST_PATH) return `is longer than ${LONGEST_PATH} bytes`;
  for (const name of path.split('/')) {
    if (name === '' || name === '.' || name === '..') return `has the element ${JSON.stringify(name)}`;
    if (Buffer.byteLength(name) > LONGEST_NAME) return `has an element longer than ${LONGEST_NAME} bytes`;
  }
  return undefined;
}

/** Brings paths to one spelling: single slashes, no trailing one, no `.` element. */
function cleanPath(path: string): string {
  if (path.startsWith('/')) return path;
  return path
    .split('/')
    .filter((name, index) => (name !== '' && name !== '.') || (index === 0 && path === ''))
    .join('/');
}

/** The payload with every path in one spelling and known to stay inside the volume.
 *  @throws VolumeSetupError naming the path and its fault */
export function checkPayload(payload: Payload): Payload {
  const checked = new Map<string, PayloadFile>();
  const directories = new Set<string>();
  for (const [written, file] of payload) {
    const path = cleanPath(written);
    const fault = pathFault(path);
    if (fault !== undefined) throw new VolumeSetupError(`path ${JSON.stringify(shorten(written))} ${fault}`);
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
