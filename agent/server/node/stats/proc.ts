/** Parsers for machine-wide statistics in /proc. Pure. @see proc(5) */

/** Ticks per second of the times in /proc/stat: a constant of the user-space interface. */
const TICKS = 100;
const NS_PER_TICK = 1_000_000_000 / TICKS;

export interface CpuTimes {
  /** CPU time used since boot, in ns. */
  readonly busyNs: number;
  /** Boot time, in ms since the epoch. */
  readonly bootMs: number;
}

/** Parses /proc/stat. */
export function parseStat(text: string): CpuTimes {
  const words = /^cpu +(.+)$/m.exec(text)?.[1]?.split(' ').map(Number) ?? [];
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = words;
  const seconds = Number(/^btime (\d+)$/m.exec(text)?.[1] ?? 0);
  return { busyNs: (user + nice + system + irq + softirq + steal) * NS_PER_TICK, bootMs: seconds * 1000 };
}

export interface Memory {
  readonly totalBytes: number;
  readonly availableBytes: number;
  readonly freeBytes: number;
  readonly anonBytes: number;
  readonly swapBytes: number;
  readonly swapFreeBytes: number;
}

/** Parses /proc/meminfo. */
export function parseMeminfo(text: string): Memory {
  const bytesOf = (key: string): number =>
    Number(new RegExp(`^${key}: +(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0) * 1024;
  return {
    totalBytes: bytesOf('MemTotal'),
    availableBytes: bytesOf('MemAvailable'),
    freeBytes: bytesOf('MemFree'),
    anonBytes: bytesOf('AnonPages'),
    swapBytes: bytesOf('SwapTotal'),
    swapFreeBytes: bytesOf('SwapFree'),
  };
}

export interface FieldErrors {
  readonly pageFaults: number;
  readonly majorPageFaults: number;
}

/** Parses /proc/vmstat. */
export function parseVmstat(text: string): FieldErrors {
  const count = (key: string): number => Number(new RegExp(`^${key} (\\d+)$`, 'm').exec(text)?.[1] ?? 0);
  return { pageFaults: count('pgfault'), majorPageFaults: count('pgmajfault') };
}

export interface InterfaceCounts {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

/** Parses /proc/net/dev, without loopback and pod interfaces. */
export function parseNetDev(text: string): readonly InterfaceCounts[] {
  return text.split('\n').flatMap((line) => {
    const [, name = '', rest = ''] = /^\s*([^:\s]+):\s*(.+)$/.exec(line) ?? [];
    if (name === '' || /^(?:lo$|veth|cali|cni|docker)/.test(name)) return [];
    const [rxBytes = 0, rxPackets = 0, rxErrors = 0, rxDropped = 0, , , , , ...sent] = rest
      .trim()
      .split(/\s+/)
      .map(Number);
    const [txBytes = 0, txPackets = 0, txErrors = 0, txDropped = 0] = sent;
    const received = { rxBytes, rxPackets, rxErrors, rxDropped };
    return [{ name, ...received, txBytes, txPackets, txErrors, txDropped }];
  });
}

/** Returns the number of threads in /proc/loadavg. */
export const parseThreads = (text: string): number => Number(/(?<!\d)\d+\/(\d+)/.exec(text)?.[1] ?? 0);
