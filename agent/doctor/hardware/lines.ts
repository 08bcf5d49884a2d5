/** Hardware as lines of text. Pure. Serial numbers are not shown. */

export interface MemoryModule {
  readonly sizeBytes: number;
  /** Such as `DDR4`; empty if unknown, as in most virtual machines. */
  readonly type: string;
  /** 0 if unknown. */
  readonly clockMHz: number;
  /** Undefined if unknown. */
  readonly ecc: boolean | undefined;
}

export interface Disk {
  readonly name: string;
  /** Such as `SSD`, `HD`, `NVMe`. */
  readonly type: string;
  readonly sizeBytes: number;
}

export interface HardwareFacts {
  /** Manufacturer and model; empty if unknown. */
  readonly system: string;
  readonly memory: readonly MemoryModule[];
  readonly disks: readonly Disk[];
}

export interface HardwareLine {
  readonly subject: 'system' | 'memory modules' | 'disks';
  readonly detail: string;
}

const GIB = 1024 ** 3;

const sizeText = (bytes: number): string => `${Number((bytes / GIB).toFixed(1))} GiB`;

function moduleText({ sizeBytes, type, clockMHz, ecc }: MemoryModule): string {
  const parts = [sizeText(sizeBytes), type, clockMHz > 0 ? `${clockMHz} MHz` : '', ecc === true ? 'ECC' : ''];
  return parts.filter((part) => part !== '').join(' ');
}

const diskText = ({ name, type, sizeBytes }: Disk): string =>
  [name, type, sizeText(sizeBytes)].filter((part) => part !== '').join(' ');

/** Returns lines for what is known. A module without a type is the total of a virtual machine, which /proc has. */
export function hardwareLines({ system, memory, disks }: HardwareFacts): readonly HardwareLine[] {
  const modules = memory.filter(({ type, sizeBytes }) => type !== '' && sizeBytes > 0);
  const lines: readonly HardwareLine[] = [
    { subject: 'system', detail: system },
    { subject: 'memory modules', detail: modules.map(moduleText).join(', ') },
    { subject: 'disks', detail: disks.map(diskText).join(', ') },
  ];
  return lines.filter(({ detail }) => detail !== '');
}
