/** What a rotation of one container's log does to its files. Pure.
 *  Names: `0.log` is written to, `0.log.20261121-101500` was written last, `0.log.20261121-100500.gz` is older.
 *  A rotation first compresses what is not compressed yet, so that the newest rotated file stays plain: the runtime
 *  may still write to it until it has been told to reopen. */

export interface LogFiles {
  /** Name of the file that is written to. */
  readonly current: string;
  /** Names beside it in its directory. */
  readonly names: readonly string[];
}

export interface RotationPolicy {
  /** Files kept of one container, the current one included; at least 2. */
  readonly maxFiles: number;
}

export interface CompressStep {
  readonly from: string;
  /** Written first, then renamed. */
  readonly temporary: string;
  readonly to: string;
}

/** The steps in their order. Each may be cut short by a crash; the next rotation cleans up after it. */
export interface RotationPlan {
  readonly remove: readonly string[];
  readonly compress: readonly CompressStep[];
  readonly rename: { readonly from: string; readonly to: string };
}

const COMPRESSED = '.gz';
const TEMPORARY = '.tmp';
/** `.20261121-101500`, perhaps compressed or half-way to it. */
const ROTATED = /^\.\d{8}-\d{6}(?:\.gz)?(?:\.tmp)?$/;
/** Old files below which no setting may go: one current, one rotated. */
const LEAST_FILES = 2;
/** A log below this is not worth a rotation, in bytes. */
const LEAST_WORTH_BYTES = 65_536;

/** `20261121-101500`, in UTC. */
function formatTimestamp(atMs: number): string {
  const [date = '', time = ''] = new Date(atMs).toISOString().split('T');
  return `${date.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`;
}

/** A name that no file has yet: two rotations may fall into one second when the clock is set back. */
function freeName(files: LogFiles, nowMs: number): string {
  const taken = new Set(files.names.map((name) => name.replace(/(?:\.gz)?(?:\.tmp)?$/, '')));
  for (let atMs = nowMs; ; atMs += 1000) {
    const name = `${files.current}.${formatTimestamp(atMs)}`;
    if (!taken.has(name)) return name;
  }
}

function rotatedNames(files: LogFiles): readonly string[] {
  return files.names.filter(
    (name) => name.startsWith(files.current) && ROTATED.test(name.slice(files.current.length)),
  );
}

/** Half-written files, and originals of which the compressed copy was finished. */
function decideLeftovers(rotated: readonly string[]): readonly string[] {
  const names = new Set(rotated);
  return rotated.filter((name) => name.endsWith(TEMPORARY) || names.has(name + COMPRESSED));
}

/** Names of the rotated files of a log that are not compressed, the oldest first. */
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

/** What compresses all that was rotated, the newest too: for a disk that is short of space. */
export const planCompression = (files: LogFiles): readonly CompressStep[] =>
  plainRotatedNames(files).map(compressStep);

/** Size from which a log is rotated while its disk is short of space, in bytes: a tenth, but no trifle. */
export const sizeUnderPressure = (maxSizeBytes: number): number =>
  Math.min(maxSizeBytes, Math.max(LEAST_WORTH_BYTES, maxSizeBytes / 10));

/** The steps of one rotation, from the names that are there. */
export function planRotation(files: LogFiles, policy: RotationPolicy, nowMs: number): RotationPlan {
  const rotated = rotatedNames(files);
  const leftovers = new Set(decideLeftovers(rotated));
  const kept = rotated.filter((name) => !leftovers.has(name)).sort();
  // One place is for the new current file, one for the file that is about to be rotated.
  const places = Math.max(LEAST_FILES, policy.maxFiles) - 2;
  const excess = kept.slice(0, Math.max(0, kept.length - places));
  const stay = kept.slice(excess.length);
  return {
    remove: [...leftovers, ...excess],
    compress: stay.filter((name) => !name.endsWith(COMPRESSED)).map(compressStep),
    rename: { from: files.current, to: freeName(files, nowMs) },
  };
}
