import { expect, test } from 'vitest';
import { createJournalLogger } from './journal-logger.ts';
import { createProcessLogger } from './process-logger.ts';

test('an entry has a priority, the message with its fields, and each field by name', () => {
  const sent: Record<string, string>[] = [];
  const log = createJournalLogger(
    {
      identifier: 'nodeagent',
      send: (fields) => void sent.push(Object.fromEntries(fields)),
      fallback: () => undefined,
    },
    { node: 'n' },
  );
  const pod = log.child({ component: 'pods', pod: 'default/web#12', podUID: '12' });
  pod.warn({ err: new Error('no disk'), attempts: 2, detail: { a: 1 } }, 'Failed to mount volume');
  log.error({ message: 'x' }, 'Bad');
  log.info({}, 'Good');
  log.debug({}, 'Fine');
  expect(sent[0]).toEqual({
    NODE: 'n',
    COMPONENT: 'pods',
    POD: 'default/web',
    POD_UID: '12',
    ERROR: 'no disk',
    ATTEMPTS: '2',
    MESSAGE:
      'Failed to mount volume err="no disk" attempts=2 detail={"a":1} node="n" pod="default/web#12" podUID="12"',
    PRIORITY: '4',
    SYSLOG_IDENTIFIER: 'nodeagent',
  });
  expect(sent.slice(1).map((entry) => entry['PRIORITY'])).toEqual(['3', '6', '7']);
  expect(sent[1]).toMatchObject({ MESSAGE: 'Bad message="x" node="n"', FIELD_MESSAGE: 'x' });
});

test('an entry that the journal does not accept becomes a line with its priority', () => {
  const lines: string[] = [];
  const send = () => {
    throw new Error('too large');
  };
  const output = { write: (line: string) => void lines.push(line) };
  const log = createProcessLogger(0, { node: 'n' }, output, { journal: { identifier: 'x', send } });
  log.warn({ pod: 'default/web' }, 'Two\nlines');
  log.debug({}, 'hidden');
  expect(lines).toEqual(['<4>Two lines pod="default/web" node="n"\n']);
});
