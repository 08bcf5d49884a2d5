import { expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { createWaitingReport } from './waiting.ts';

test('reports the wait and its reason every few seconds', async () => {
  const clock = createFakeClock();
  const said: string[] = [];
  const report = createWaitingReport(clock, (text) => said.push(text));
  report.for('the server');
  await clock.advance(2000);
  report.because('refused');
  await clock.advance(5000);
  report.for('approval');
  await clock.advance(5000);
  report.stop();
  await clock.advance(60_000);
  expect(said).toEqual([
    'waiting for the server (2 s)',
    'waiting for the server (7 s): refused',
    'waiting for approval (5 s)',
  ]);
});
