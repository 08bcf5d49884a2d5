/** Route `/version`: the release of the API, and the platform of the server. Source: version of the facts. */
import type { Info } from '#api/gen/version.ts';

/** Upstream release whose behaviour the server implements. */
export const API_RELEASE = { major: '1', minor: '24', patch: '17' } as const;

export interface BuildInfo {
  /** Name and version of the product, letters, digits, dots and hyphens: `control-plane-lite.0.1.0`. */
  readonly product: string;
  readonly gitCommit: string;
  /** RFC 3339. */
  readonly buildDate: string;
  /** As Node names it. */
  readonly arch: string;
  /** `v26.10.0` */
  readonly nodeVersion: string;
}

/** Architectures by the names that clients of the field know. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', loong64: 'loong64' };

export function versionInfo({ product, gitCommit, buildDate, arch, nodeVersion }: BuildInfo): Info {
  const { major, minor, patch } = API_RELEASE;
  return {
    major,
    minor,
    gitVersion: `v${major}.${minor}.${patch}+${product}`,
    gitCommit,
    gitTreeState: 'clean',
    buildDate,
    goVersion: `node${nodeVersion.replace(/^v/, '')}`,
    compiler: 'v8',
    platform: `linux/${ARCHITECTURES[arch] ?? arch}`,
  };
}
