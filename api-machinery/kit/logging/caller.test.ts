import { describe, expect, test } from 'vitest';
import { locationOf } from './caller.ts';
import { createProcessLogger } from './process-logger.ts';

describe('location', () => {
  test.each([
    ['at start (file:///src/agent/images/puller.ts:42:7)', 'images/puller.ts:42'],
    ['at file:///src/agent/images/puller.ts:42:7', 'images/puller.ts:42'],
    ['at start (file:///usr/lib/dist/nodeagent.js:1:48213)', 'dist/nodeagent.js:48213'],
    ['at new Promise (<anonymous>)', '/:<anonymous>'],
  ])('of %s', (frame, location) => {
    expect(locationOf(frame)).toBe(location);
  });
});

describe('log with callers', () => {
  const linesOf = (format: 'json' | 'text', backtraceAt: string, isShown: boolean) => {
    const lines: string[] = [];
    const output = { write: (line: string) => void lines.push(line) };
    const log = createProcessLogger(0, {}, output, { format, callers: { isShown, backtraceAt } });
    return { log, lines };
  };

  test('text names directory, file and line in place of the component', () => {
    const { log, lines } = linesOf('text', '', true);
    log.child({ component: 'images' }).info({}, 'Image removed');
    expect(lines.join()).toMatch(/ logging\/caller\.test\.ts:\d+\] "Image removed"\n$/);
  });

  test('JSON has the location as a field', () => {
    const { log, lines } = linesOf('json', '', true);
    log.warn({}, 'Image removed');
    expect(lines.join()).toMatch(/"caller":"logging\/caller\.test\.ts:\d+"/);
  });

  test('a line at the requested location has a stack trace, others have none', () => {
    const { log: first, lines: located } = linesOf('json', '', true);
    const write = (log: typeof first): void => log.info({}, 'here');
    write(first);
    const { caller } = JSON.parse(located.join()) as { caller: string };
    const { log, lines } = linesOf('json', caller.slice(caller.indexOf('/') + 1), false);
    write(log);
    log.info({}, 'elsewhere');
    expect(lines[0]).toMatch(/"stack":"at write .*caller\.test\.ts/);
    expect(lines[1]).not.toContain('stack');
  });

  test('a change of the verbosity applies', () => {
    const { log, lines } = linesOf('text', '', true);
    log.debug({}, 'before');
    log.setVerbosity(4);
    log.debug({}, 'after');
    expect(lines).toHaveLength(1);
  });
});
