/** Memory and its huge pages. Pure. Source: proc(5), the kernel's hugetlbpage.rst. */

/** Bytes of all memory; `undefined` if the text does not tell.
 *  @param meminfo text of `/proc/meminfo` */
export function totalMemoryBytes(meminfo: string): number | undefined {
  const kibibytes = /^MemTotal:\s+(\d+) kB$/m.exec(meminfo)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Bytes of a huge page by the name of its directory, `hugepages-2048kB`. */
export function hugePageSizeBytes(directory: string): number | undefined {
  const kibibytes = /^hugepages-(\d+)kB$/.exec(directory)?.[1];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}
