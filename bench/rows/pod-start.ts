/** Row: one pod, from manifest rename to the first instruction of its container. */
import type { RowOn } from '../row.ts';
import { type StartBench, wallMs } from '../setup.ts';
import { type Measurement, median } from '../table.ts';

const REPEATS = 15;

async function measure({ floor, started, drop, clear, say }: StartBench): Promise<Measurement> {
  const own: number[] = [];
  const bare: number[] = [];
  for (let index = 0; index < REPEATS; index += 1) {
    const run = await floor.ready(`bare-${index}`);
    const bareMs = wallMs();
    const running = run();
    bare.push((await started.at(`bare-${index}`, bareMs)) - bareMs);
    await floor.remove(await running);
    const name = `one-${index}`;
    const ownMs = await drop([name]);
    own.push((await started.at(name, ownMs)) - ownMs);
    await clear();
    say(`one pod: ${own.at(-1)?.toFixed(0)} ms, bare ${bare.at(-1)?.toFixed(0)} ms`);
  }
  return { value: median(own) / 1000, floor: median(bare) / 1000 };
}

export const podStart: RowOn<StartBench> = {
  name: 'pod-start',
  title: 'one pod: manifest → first instruction',
  unit: 's',
  budget: 1.2,
  limits: 'ratio',
  measure,
};
