/** Resource limits in docker's form. Pure. */
import type { LinuxContainerResources } from '#cri/gen/cri-v1.ts';

type Members = Readonly<Record<string, number | string>>;

const positive = (name: string, value: bigint): Members => (value > 0n ? { [name]: Number(value) } : {});
const present = (name: string, value: string): Members => (value === '' ? {} : { [name]: value });

/** Docker has no limits of huge pages: that of the cgroup of the pod applies. */
export function dockerResources(resources: LinuxContainerResources | undefined): Members {
  if (resources === undefined) return {};
  const { memoryLimitInBytes: memory, memorySwapLimitInBytes: swap } = resources;
  return {
    ...positive('CpuShares', resources.cpuShares),
    ...positive('CpuPeriod', resources.cpuPeriod),
    ...(resources.cpuQuota === 0n ? {} : { CpuQuota: Number(resources.cpuQuota) }),
    ...positive('Memory', memory),
    // Without a limit of its own, docker would allow as much swap as memory.
    ...(swap === 0n ? positive('MemorySwap', memory) : { MemorySwap: Number(swap) }),
    ...present('CpusetCpus', resources.cpusetCpus),
    ...present('CpusetMems', resources.cpusetMems),
  };
}

/** Returns the score that docker may set: without CAP_SYS_RESOURCE only a higher one than the daemon's. */
export function oomScoreAdj(wanted: bigint, lowest: number | undefined): number {
  return lowest === undefined ? Number(wanted) : Math.max(Number(wanted), lowest);
}
