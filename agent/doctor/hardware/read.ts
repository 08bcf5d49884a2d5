/** Reads the hardware that /proc does not report: the model of the machine, memory modules, kinds of disks. Starts
 *  programs of the machine, which takes half a second, so it is loaded on demand. */
import type { HardwareFacts } from './lines.ts';

const UNKNOWN: HardwareFacts = { system: '', memory: [], disks: [] };

/** Never rejects: what cannot be read is missing. */
export async function readHardware(): Promise<HardwareFacts> {
  const { system, memLayout, diskLayout } = await import('systeminformation');
  try {
    const [machine, modules, disks] = await Promise.all([system(), memLayout(), diskLayout()]);
    return {
      system: [machine.manufacturer, machine.model].filter((part) => part !== '' && part !== '-').join(' '),
      memory: modules.map(({ size, type, clockSpeed, ecc }) => ({
        sizeBytes: size,
        type,
        clockMHz: clockSpeed ?? 0,
        ecc: ecc ?? undefined,
      })),
      disks: disks.map(({ name, type, size }) => ({ name, type, sizeBytes: size })),
    };
  } catch {
    return UNKNOWN;
  }
}
