import { expect, test } from 'vitest';
import { createProcessLogger } from './process-logger.ts';

test('createProcessLogger logs according to its verbosity, which may change for all its children', () => {
  const lines: string[] = [];
  const log = createProcessLogger(0, { node: 'n' }, { write: (line) => void lines.push(line) });
  const child = log.child({ pod: 'p' });
  const say = (): readonly unknown[] => {
    lines.length = 0;
    child.info({}, 'info');
    child.debug({}, 'debug');
    child.trace({}, 'trace');
    return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
  };
  expect(say()).toEqual(['info']);
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', node: 'n', pod: 'p' });
  log.setVerbosity(4);
  expect(say()).toEqual(['info', 'debug']);
  log.setVerbosity(6);
  expect(say()).toEqual(['info', 'debug', 'trace']);
  log.setVerbosity(2);
  expect(say()).toEqual(['info']);
});

test('components may have another verbosity', () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push((JSON.parse(line) as { msg: string }).msg);
  const modules = [
    { pattern: 'im*', verbosity: 4 },
    { pattern: 'c?i', verbosity: 6 },
  ];
  const log = createProcessLogger(0, {}, { write }, { modules });
  log.debug({}, 'rest');
  log.child({ component: 'images' }).debug({}, 'images');
  log.child({ component: 'images' }).trace({}, 'too much of images');
  log.child({ component: 'cri' }).trace({}, 'cri');
  log.child({ component: 'cXi.' }).trace({}, 'another');
  expect(lines).toEqual(['images', 'cri']);
});
