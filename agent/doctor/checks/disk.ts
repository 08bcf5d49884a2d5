/** Checks for free space on the file systems that the agent writes to. */
import type { Finding, FindingState } from '../finding.ts';
import type { Machine, Space } from '../machine.ts';

/** Default eviction thresholds. Source: `evictionHard`, document 3. */
const LEAST_FREE = 0.1;
const LEAST_INODES = 0.05;
/** Below this amount nothing can be started. */
const LEAST_BYTES = 16 * 1024 * 1024;

const GIBIBYTE = 1024 ** 3;
const inGiB = (bytes: number): string => `${(bytes / GIBIBYTE).toFixed(1)} GiB`;

function judge({ freeBytes, totalBytes, freeInodes, totalInodes }: Space): FindingState {
  if (freeBytes < LEAST_BYTES) return 'broken';
  const isShort = freeBytes / totalBytes < LEAST_FREE;
  return isShort || (totalInodes > 0 && freeInodes / totalInodes < LEAST_INODES) ? 'limited' : 'ok';
}

export async function checkDisk(machine: Machine): Promise<readonly Finding[]> {
  const { rootDir, podLogsDir } = machine.settings;
  const found = await Promise.all(
    [...new Set([rootDir, podLogsDir])].map(async (path): Promise<readonly Finding[]> => {
      const space = await machine.space(path);
      if (space === undefined) return [];
      const inodes =
        space.totalInodes === 0
          ? ''
          : `, ${Math.round((100 * space.freeInodes) / space.totalInodes)} % of inodes`;
      const state = judge(space);
      return [
        {
          area: 'node',
          subject: 'disk',
          state,
          detail: `${path}: ${inGiB(space.freeBytes)} of ${inGiB(space.totalBytes)} free${inodes}`,
          ...(state === 'ok' ? {} : { advice: 'free disk space: pods are evicted when it runs low' }),
        },
      ];
    }),
  );
  return found.flat();
}
