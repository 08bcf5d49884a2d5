/** Follows files until the server stops. */
import {
  type FollowDeps,
  type FollowedFiles,
  type FollowOptions,
  followFiles,
} from '#api/kit/files/follow-files.ts';

/** @throws Error of the first reading */
export type Follow = <T>(options: FollowOptions<T>) => Promise<FollowedFiles<T>>;

export const createFollow =
  (deps: FollowDeps, signal: AbortSignal): Follow =>
  async (options) => {
    const followed = await followFiles(deps, options);
    signal.addEventListener('abort', followed.close, { once: true });
    if (signal.aborted) followed.close();
    return followed;
  };
