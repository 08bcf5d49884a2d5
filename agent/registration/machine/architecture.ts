/** Names of processor architectures. Pure. */

/** Node's name to Go's, which the platform's labels and images have. */
const GO_NAMES: Readonly<Record<string, string>> = {
  x64: 'amd64',
  ia32: '386',
  ppc64: 'ppc64le',
  mipsel: 'mipsle',
};

/** @param arch as `process.arch` has it */
export const goArchitecture = (arch: string): string => GO_NAMES[arch] ?? arch;
