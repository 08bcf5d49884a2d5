import { expect, test } from 'vitest';
import { createTextLogger } from './text-logger.ts';

const AT = new Date(2026, 10, 22, 5, 36, 44, 43).getTime();

function setUp(skipHeaders = false) {
  const lines: string[] = [];
  const options = { now: () => AT, pid: 308, skipHeaders };
  return { lines, log: createTextLogger(options, { node: 'n1' }, (line) => void lines.push(line)) };
}

test('writes upstream’s lines: severity, time, process, component, message, fields', () => {
  const { lines, log } = setUp();
  log.info({ bytes: 5, none: undefined }, 'Agent started');
  log.child({ component: 'images' }).warn({ names: ['a', 'b'], big: 7n }, 'Image "x"\nwas kept');
  expect(lines).toEqual([
    'I1122 05:36:44.043000     308 agent] "Agent started" bytes=5 node="n1"\n',
    'W1122 05:36:44.043000     308 images] "Image \\"x\\"\\nwas kept" names=["a","b"] big=7 node="n1"\n',
  ]);
});

test('writes errors with their causes, in one line', () => {
  const { lines, log } = setUp(true);
  const err = new Error('not opened', { cause: new Error('no\nsuch file') });
  log.error({ err, inner: { err } }, 'Failed');
  expect(lines).toEqual([
    '"Failed" err="not opened: no\\nsuch file" inner={"err":"not opened: no\\nsuch file"} node="n1"\n',
  ]);
});
