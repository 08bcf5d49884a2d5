import { describe, expect, test } from 'vitest';
import { encodeEntry, fieldName, isJournalStream, openJournal } from './journal.ts';

describe('fieldName', () => {
  test.each([
    ['pod', 'POD'],
    ['podUID', 'POD_UID'],
    ['exit-code', 'EXIT_CODE'],
    ['message', 'FIELD_MESSAGE'],
    ['priority', 'FIELD_PRIORITY'],
    ['_TRANSPORT', undefined],
    ['9lives', undefined],
    ['ä', undefined],
    ['a'.repeat(100), 'A'.repeat(64)],
  ])('%s → %s', (key, name) => {
    expect(fieldName(key)).toBe(name);
  });
});

describe('encodeEntry', () => {
  test('a value without a line end is a line', () => {
    expect(encodeEntry(new Map([['POD', 'default/web']])).toString()).toBe('POD=default/web\n');
  });

  test('a value with a line end cannot add fields: its length precedes it', () => {
    const entry = encodeEntry(new Map([['MESSAGE', 'a\nPRIORITY=0']]));
    expect(entry.subarray(0, 8).toString()).toBe('MESSAGE\n');
    expect(entry.readBigUInt64LE(8)).toBe(12n);
    expect(entry.subarray(16).toString()).toBe('a\nPRIORITY=0\n');
  });
});

test('the journal is used only if standard error is connected to it', async () => {
  expect(isJournalStream('7:42', { dev: 7, ino: 42 })).toBe(true);
  expect(isJournalStream('7:43', { dev: 7, ino: 42 })).toBe(false);
  const openSender = () => Promise.reject(new Error('no socket was to be opened'));
  expect(await openJournal({}, openSender)).toBeUndefined();
  expect(await openJournal({ JOURNAL_STREAM: '0:0' }, openSender)).toBeUndefined();
});
