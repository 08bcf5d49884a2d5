/** Names of CPU architectures. Pure. */

/** Node's name to Go's, which platform labels and images use. */
const GO_NAMES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  ppc64: 'ppc64le',
  mipsel: 'mipsle',
};

/** @param arch in the form of `process.arch` */
export const goArchitecture = (arch: string): string => GO_NAMES[arch] ?? arch;
