import { expect, test } from 'vitest';
import { type HardwareFacts, hardwareLines } from './lines.ts';

const GIB = 1024 ** 3;
const NOTHING: HardwareFacts = { system: '', memory: [], disks: [] };

test.each<[string, Partial<HardwareFacts>, readonly string[]]>([
  ['nothing known', {}, []],
  [
    'a server',
    {
      system: 'Acme X1',
      memory: [
        { sizeBytes: 16 * GIB, type: 'DDR4', clockMHz: 3200, ecc: true },
        { sizeBytes: 8 * GIB, type: 'DDR4', clockMHz: 0, ecc: undefined },
      ],
      disks: [{ name: 'Acme 970', type: 'NVMe', sizeBytes: 931.5 * GIB }],
    },
    [
      'system: Acme X1',
      'memory modules: 16 GiB DDR4 3200 MHz ECC, 8 GiB DDR4',
      'disks: Acme 970 NVMe 931.5 GiB',
    ],
  ],
  [
    'a virtual machine, whose memory has no modules',
    { memory: [{ sizeBytes: 2 * GIB, type: '', clockMHz: 0, ecc: undefined }] },
    [],
  ],
])('%s', (_, facts, expected) => {
  const lines = hardwareLines({ ...NOTHING, ...facts });
  expect(lines.map(({ subject, detail }) => `${subject}: ${detail}`)).toEqual(expected);
});
