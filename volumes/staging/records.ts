/** Encoding and decoding of volume records. Pure: callers validate the values that they use. */

import { isDeepStrictEqual } from 'node:util';
import { parseJsonText } from '#api/codec/json-text.ts';
import { isObject } from '#api/kit/object.ts';
import type { PublishRecord, StageRecord, UndoState } from '../contract/staging.ts';

const VERSION = 1;

/** An unusable record: truncated, of another version, or of another volume. */
export class VolumeRecordError extends Error {
  readonly reason = 'InvalidVolumeRecord';

  constructor(message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.name = 'VolumeRecordError';
  }
}

type Fields = Readonly<Record<string, unknown>>;

function parseFields(text: string): Fields {
  let value: unknown;
  try {
    value = parseJsonText(text);
  } catch (cause) {
    throw new VolumeRecordError('is not JSON', { cause });
  }
  if (!isObject(value)) throw new VolumeRecordError('is not an object');
  if (value['version'] !== VERSION)
    throw new VolumeRecordError(`version ${JSON.stringify(value['version'])} is not ${VERSION}`);
  return value;
}

function textOf(fields: Fields, name: string): string {
  const value = fields[name];
  if (typeof value === 'string' && value !== '') return value;
  throw new VolumeRecordError(`${name} is not a string`);
}

function stateOf(fields: Fields): UndoState {
  const { state } = fields;
  if (!isObject(state)) throw new VolumeRecordError('state is not an object');
  const entries = Object.entries(state).map(([key, value]): readonly [string, string] => {
    if (typeof value !== 'string') throw new VolumeRecordError(`state.${key} is not a string`);
    return [key, value];
  });
  return Object.fromEntries(entries);
}

/** @throws VolumeRecordError */
export function parseStageRecord(text: string): StageRecord {
  const fields = parseFields(text);
  return {
    source: textOf(fields, 'source'),
    uniqueName: textOf(fields, 'uniqueName'),
    state: stateOf(fields),
  };
}

/** @throws VolumeRecordError */
export function parsePublishRecord(text: string): PublishRecord {
  const fields = parseFields(text);
  return {
    source: textOf(fields, 'source'),
    volumeName: textOf(fields, 'volumeName'),
    state: stateOf(fields),
    ...(fields['dirName'] === undefined ? {} : { dirName: textOf(fields, 'dirName') }),
    ...(fields['uniqueName'] === undefined ? {} : { uniqueName: textOf(fields, 'uniqueName') }),
    ...(fields['block'] === true ? { block: true } : {}),
  };
}

export const formatRecord = (record: StageRecord | PublishRecord): string =>
  `${JSON.stringify({ version: VERSION, ...record })}\n`;

/** Reports whether writing `next` over `before` would change nothing. */
export const isSameRecord = (
  before: StageRecord | PublishRecord | undefined,
  next: StageRecord | PublishRecord,
): boolean => isDeepStrictEqual(before, next);
