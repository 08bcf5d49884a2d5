/** Cgroup directories of a process in the file system, for cgroup v1, v2 and hybrid hierarchies. */

/** Returns the cgroup directories of a process, without hierarchy roots. `cgroups` is the text of
 *  `/proc/<pid>/cgroup`. */
export function cgroupFolders(cgroups: string, mountRoot = '/sys/fs/cgroup'): readonly string[] {
  return cgroups.split('\n').flatMap((line) => {
    const match = /^\d+:([^:]*):(\/.+)$/.exec(line);
    if (match === null) return [];
    const [, controllers = '', path = ''] = match;
    // The unified hierarchy is the mount root itself, or a directory of that name beside v1 hierarchies.
    if (controllers === '') return [`${mountRoot}${path}`, `${mountRoot}/unified${path}`];
    return [`${mountRoot}/${controllers.replace(/^name=/, '')}${path}`];
  });
}
