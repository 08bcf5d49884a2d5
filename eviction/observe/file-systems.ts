/** Space on the file systems that pods and images lie on. Asks the file systems, and the runtime where images are. */
import type { Clock } from '#api/kit/clock.ts';

/** Bytes and inodes. */
export interface Space {
  readonly capacityBytes: number;
  readonly availableBytes: number;
  /** 0 where the file system makes them as they are needed. */
  readonly inodes: number;
  readonly inodesFree: number;
}

export interface FileSystemsDeps {
  readonly clock: Clock;
  readonly spaceOf: (path: string) => Promise<Space>;
  /** Number of the device that the path is on. */
  readonly deviceOf: (path: string) => Promise<number>;
  /** Folders that images lie in, as the runtime tells them. */
  readonly imageFolders: (signal: AbortSignal) => Promise<readonly string[]>;
}

export interface FileSystems {
  /** Of the root directory. @throws Error of the file system */
  readonly nodeSpace: () => Promise<Space>;
  /** Of the fullest of the file systems of images; undefined where the runtime doesn't tell which.
   *  @throws CriError, Error of the file system */
  readonly imageSpace: (signal: AbortSignal) => Promise<Space | undefined>;
  /** Whether images were seen to lie on a file system of their own. */
  readonly imagesApart: () => boolean;
}

/** Runtimes count all images before they tell the folder, which stays the same for as long as they run. */
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
        // The runtime may have been set up anew.
        known = undefined;
        throw thrown;
      }
    },
  };
}
