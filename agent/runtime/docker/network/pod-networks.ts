/** Networks of sandboxes: docker's own, or those of network plugins. */
import type { PodSandboxConfig } from '#cri/gen/cri-v1.ts';

export interface PodNetworkTarget {
  readonly id: string;
  readonly config: PodSandboxConfig;
  /** Path of the network namespace; empty if it no longer exists. */
  readonly namespace: string;
}

export interface PodNetworks {
  /** Whether plugins configure the networks of pods. */
  readonly usesPlugins: boolean;
  /** Returns the addresses of the pod. */
  setUp(target: PodNetworkTarget): Promise<readonly string[]>;
  /** Idempotent. */
  tearDown(target: PodNetworkTarget): Promise<void>;
  /** Undefined if pods can get networks, otherwise the reason. */
  problem(): Promise<string | undefined>;
  /** Sets the range of the addresses of pods. */
  setPodCidr(cidr: string): void;
}

/** Docker configures the networks. */
export function dockerNetworks(): PodNetworks {
  return {
    usesPlugins: false,
    setUp: () => Promise.resolve([]),
    tearDown: () => Promise.resolve(),
    problem: () => Promise.resolve(undefined),
    setPodCidr: () => undefined,
  };
}
