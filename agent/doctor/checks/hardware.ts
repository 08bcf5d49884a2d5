/** Hardware of the machine, for reports of problems. Never a problem itself. */
import type { Finding } from '../finding.ts';
import { hardwareLines } from '../hardware/lines.ts';
import type { Machine } from '../machine.ts';

export async function checkHardware(machine: Machine): Promise<readonly Finding[]> {
  const lines = hardwareLines(await machine.readHardware());
  return lines.map(({ subject, detail }) => ({ area: 'node', subject, state: 'ok', detail }));
}
