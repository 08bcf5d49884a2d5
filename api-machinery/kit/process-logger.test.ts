import { expect, test } from 'vitest';
import { createProcessLogger } from './process-logger.ts';

test('createProcessLogger says as much as its verbosity, which may change for all of the family', () => {
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
