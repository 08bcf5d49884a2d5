/** Metric of the version of the agent, under upstream's name. */
import { arch, platform } from 'node:os';
import type { MetricsRegistry } from '#api/kit/metrics.ts';

export interface BuildInfo {
  /** Version of the platform that the agent implements. */
  readonly major: string;
  readonly minor: string;
  /** Version of the agent. */
  readonly version: string;
  readonly commit: string;
}

/** @param registry adds no prefix
 *  @param prefix name of the platform */
export function addBuildInfo(registry: MetricsRegistry, prefix: string, info: BuildInfo): void {
  const { major, minor, version, commit } = info;
  const labels = {
    major,
    minor,
    git_version: `v${version}`,
    git_commit: commit,
    git_tree_state: '',
    build_date: '',
    go_version: process.version,
    compiler: 'node',
    platform: `${platform()}/${arch()}`,
  };
  registry
    .gauge({
      name: `${prefix}_build_info`,
      help: "A metric with a constant '1' value labeled by version, commit and platform of the program.",
      labels: Object.keys(labels),
    })
    .with(...Object.values(labels))
    .set(1);
}
