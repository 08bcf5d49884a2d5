import { assert, dictionary, property, string } from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { PublishRecord, StageRecord } from '../contract/staging.ts';
import { formatRecord, parsePublishRecord, parseStageRecord, VolumeRecordError } from './records.ts';

const text = string({ minLength: 1 });
const state = dictionary(
  text.filter((key) => key !== '__proto__'),
  string(),
);

describe('parseStageRecord', () => {
  test('reads what was written', () => {
    assert(
      property(text, text, state, (source, uniqueName, saved) => {
        const record: StageRecord = { source, uniqueName, state: saved };
        expect(parseStageRecord(formatRecord(record))).toEqual({ ...record, state: { ...saved } });
      }),
    );
  });

  test.each([
    ['', 'is not JSON'],
    ['{"version":1,"sou', 'is not JSON'],
    ['[]', 'is not an object'],
    ['null', 'is not an object'],
    ['{}', 'version undefined is not 1'],
    ['{"version":2}', 'version 2 is not 1'],
    ['{"version":1,"uniqueName":"a","state":{}}', 'source is not a string'],
    ['{"version":1,"source":"nfs","uniqueName":"","state":{}}', 'uniqueName is not a string'],
    ['{"version":1,"source":"nfs","uniqueName":"a"}', 'state is not an object'],
    ['{"version":1,"source":"nfs","uniqueName":"a","state":{"k":1}}', 'state.k is not a string'],
  ])('rejects %s', (given, message) => {
    expect(() => parseStageRecord(given)).toThrow(new VolumeRecordError(message));
  });
});

describe('parsePublishRecord', () => {
  const whole: PublishRecord = {
    source: 'iscsi',
    volumeName: 'data',
    dirName: 'iscsi',
    block: true,
    uniqueName: 'x/iscsi/1',
    state: { session: '1' },
  };

  test.each<[string, PublishRecord]>([
    ['all of it', whole],
    ['only the required fields', { source: 'nfs', volumeName: 'data', state: {} }],
  ])('reads %s', (_, record) => expect(parsePublishRecord(formatRecord(record))).toEqual(record));

  test.each(['volumeName', 'source', 'dirName', 'uniqueName'])(
    'rejects a %s that is not a string',
    (field) => {
      const record = JSON.stringify({ version: 1, ...whole, [field]: 7 });
      expect(() => parsePublishRecord(record)).toThrow(`${field} is not a string`);
    },
  );
});
