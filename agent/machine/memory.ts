/** Memory and huge page sizes. Pure. Source: proc(5), the kernel's hugetlbpage.rst. */

/** Returns the total memory in bytes; `undefined` if the text lacks it.
 *  @param meminfo text of `/proc/meminfo` */
export function totalMemoryBytes(meminfo: string): number | undefined {
  const kibibytes = /^MemTotal:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Returns the size of a huge page in bytes by the name of its directory, `hugepages-2048kB`. */
export function hugePageSizeBytes(directory: string): number | undefined {
  const kibibytes = /^hugepages-(\d+)kB$/.exec(directory)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
