/** Space of the file systems of pods and images, from the file systems and, for the location of images, the
 *  runtime. */
import type { Clock } from '#api/kit/clock.ts';

/** Bytes and inodes. */
export interface Space {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  /** 0 if the file system creates inodes dynamically. */
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface FileSystemsDeps {
  readonly clock: Clock;
  readonly spaceOf: (path: string) => Promise<Space>;
  /** Device number of the path. */
  readonly deviceOf: (path: string) => Promise<number>;
  /** Image directories as reported by the runtime. */
  readonly imageFolders: (signal: AbortSignal) => Promise<readonly string[]>;
}

export interface FileSystems {
  /** Space of the root directory. @throws Error of the file system */
  readonly nodeSpace: () => Promise<Space>;
  /** Space of the fullest image file system; undefined if the runtime does not report its location.
   *  @throws CriError, Error of the file system */
  readonly imageSpace: (signal: AbortSignal) => Promise<Space | undefined>;
  /** Reports whether images are on a separate file system. */
  readonly imagesApart: () => boolean;
}

/** Runtimes count all images before they report the directory, which does not change while they run. */
const FOLDERS_KEPT_MS = 300_000;

const shareFree = ({ capacityBytes, availableBytes }: Space): number =>
  capacityBytes === 0 ? 1 : availableBytes / capacityBytes;

export function createFileSystems(
  deps: FileSystemsDeps,
  { rootDir }: { readonly rootDir: string },
): FileSystems {
  const { clock, spaceOf, deviceOf } = deps;
  let known: { readonly folders: readonly string[]; readonly atMs: number } | undefined;
  let apart = false;

  async function folders(signal: AbortSignal): Promise<readonly string[]> {
    if (known !== undefined && clock.monotonic() - known.atMs < FOLDERS_KEPT_MS) return known.folders;
    const found = [...new Set(await deps.imageFolders(signal))].filter((path) => path !== '');
    const [own, ...devices] = await Promise.all([rootDir, ...found].map(deviceOf));
    apart = devices.length > 0 && devices.every((device) => device !== own);
    known = { folders: found, atMs: clock.monotonic() };
    return found;
  }

  return {
    nodeSpace: () => spaceOf(rootDir),
    imagesApart: () => apart,
    async imageSpace(signal) {
      try {
        const spaces = await Promise.all((await folders(signal)).map(spaceOf));
        return spaces.toSorted((one, other) => shareFree(one) - shareFree(other))[0];
      } catch (thrown) {
        // The runtime may have been reconfigured.
        known = undefined;
        throw thrown;
      }
    },
  };
}
