/** Parents of cgroups in docker's form. Pure. */

/** A path for the driver cgroupfs; the name of a slice for systemd, which derives its path from it. */
export function cgroupParentOf(
  parent: string,
  driver: 'cgroupfs' | 'systemd',
): { readonly CgroupParent?: string } {
  if (parent === '') return {};
  if (driver === 'cgroupfs') return { CgroupParent: parent };
  return { CgroupParent: parent.slice(parent.lastIndexOf('/') + 1) };
}

/** Returns the path of a slice below the mount: `a-b.slice` is in `a.slice`. */
function slicePath(slice: string): string {
  if (slice === '-.slice') return '';
  const parts = slice.slice(0, -'.slice'.length).split('-');
  return parts.map((_, index) => `/${parts.slice(0, index + 1).join('-')}.slice`).join('');
}

/** Returns the path of the cgroup of a container below the mount of its hierarchy.
 *  @param parent not empty */
export function cgroupPathOf(id: string, parent: string, driver: 'cgroupfs' | 'systemd'): string {
  if (driver === 'cgroupfs') return `${parent}/${id}`;
  const slice = parent.slice(parent.lastIndexOf('/') + 1);
  return `${slicePath(slice)}/docker-${id}.scope`;
}
