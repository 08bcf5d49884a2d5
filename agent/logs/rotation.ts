/** Plans the rotation of one container log. Pure.
 *  Names: `0.log` is the current file, `0.log.20261121-101500` the newest rotated one,
 *  `0.log.20261121-100500.gz` is older.
 *  A rotation first compresses the uncompressed files, so that the newest rotated file stays uncompressed:
 *  the runtime may still write to it until it reopens the log. */

export interface LogFiles {
  /** Name of the current file. */
  readonly current: string;
  /** Other names in its directory. */
  readonly names: readonly string[];
}

export interface RotationPolicy {
  /** Maximum number of files per container, including the current one; at least 2. */
  readonly maxFiles: number;
}

export interface CompressStep {
  readonly from: string;
  /** Written first, then renamed. */
  readonly temporary: string;
  readonly to: string;
}

/** Steps in order. Each may be interrupted by a crash; the next rotation cleans up after it. */
export interface RotationPlan {
  readonly remove: readonly string[];
  readonly compress: readonly CompressStep[];
  readonly rename: { readonly from: string; readonly to: string };
}

const COMPRESSED = '.gz';
const TEMPORARY = '.tmp';
/** `.20261121-101500`, possibly compressed or temporary. */
const ROTATED = /^\.\d{8}-\d{6}(?:\.gz)?(?:\.tmp)?$/;
/** Minimum number of files for any setting: one current, one rotated. */
const LEAST_FILES = 2;
/** A smaller log is not worth rotating, in bytes. */
const LEAST_WORTH_BYTES = 65_536;

/** `20261121-101500`, in UTC. */
function formatTimestamp(atMs: number): string {
  const [date = '', time = ''] = new Date(atMs).toISOString().split('T');
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}

/** Returns an unused name: two rotations may fall into one second when the clock is set back. */
function freeName(files: LogFiles, nowMs: number): string {
  const used = new Set(files.names.map((name) => name.replace(/(?:\.gz)?(?:\.tmp)?$/, '')));
  for (let atMs = nowMs; ; atMs += 1000) {
    const name = `${files.current}.${formatTimestamp(atMs)}`;
    if (!used.has(name)) return name;
  }
}

function rotatedNames(files: LogFiles): readonly string[] {
  return files.names.filter(
    (name) => name.startsWith(files.current) && ROTATED.test(name.slice(files.current.length)),
  );
}

/** Returns temporary files, and originals with a finished compressed copy. */
function decideLeftovers(rotated: readonly string[]): readonly string[] {
  const names = new Set(rotated);
  return rotated.filter((name) => name.endsWith(TEMPORARY) || names.has(name + COMPRESSED));
}

/** Returns the names of uncompressed rotated files, the oldest first. */
export function plainRotatedNames(files: LogFiles): readonly string[] {
  return rotatedNames(files)
    .filter((name) => !name.endsWith(COMPRESSED) && !name.endsWith(TEMPORARY))
    .sort();
}

const compressStep = (name: string): CompressStep => ({
  from: name,
  temporary: name + COMPRESSED + TEMPORARY,
  to: name + COMPRESSED,
});

/** Plans the compression of all rotated files, including the newest: for a disk with low space. */
export const planCompression = (files: LogFiles): readonly CompressStep[] =>
  plainRotatedNames(files).map(compressStep);

/** Size at which a log is rotated while space is low, in bytes: a tenth, with a minimum. */
export const sizeUnderPressure = (maxSizeBytes: number): number =>
  Math.min(maxSizeBytes, Math.max(LEAST_WORTH_BYTES, maxSizeBytes / 10));

/** Plans one rotation, from the existing names. */
export function planRotation(files: LogFiles, policy: RotationPolicy, nowMs: number): RotationPlan {
  const rotated = rotatedNames(files);
  const leftovers = new Set(decideLeftovers(rotated));
  const remaining = rotated.filter((name) => !leftovers.has(name)).sort();
  // One file is the new current one, another the one about to be rotated.
  const places = Math.max(LEAST_FILES, policy.maxFiles) - 2;
  const excess = remaining.slice(0, Math.max(0, remaining.length - places));
  const stay = remaining.slice(excess.length);
  return {
    remove: [...leftovers, ...excess],
    compress: stay.filter((name) => !name.endsWith(COMPRESSED)).map(compressStep),
    rename: { from: files.current, to: freeName(files, nowMs) },
  };
}
