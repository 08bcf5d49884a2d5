/** Reads the value of a setting by its type, from flags or from the file. */

import type { Int64 } from '#api/kit/int64.ts';
import type { ConfigValue } from '../reader.ts';
import type { Setting } from '../setting.ts';
import { canonicalMember } from '../upstream.ts';
import { parseThresholdTexts } from './eviction-expressions.ts';
import * as lists from './lists.ts';
import * as maps from './maps.ts';
import { mapParsed, ok, type Parsed } from './parsed.ts';
import * as scalars from './scalars.ts';
import { parseTaints, parseTaintTexts } from './taints.ts';

const bool = (value: boolean): ConfigValue => ({ shape: 'bool', value });
const number = (value: Int64): ConfigValue => ({ shape: 'number', value });
const text = (value: string): ConfigValue => ({ shape: 'text', value });
const map = (value: Readonly<Record<string, string>>): ConfigValue => ({ shape: 'map', value });

/** Converts list members that are flag names in upstream's spelling to ours. */
function texts(setting: Setting): (values: readonly string[]) => ConfigValue {
  return (values) => ({
    shape: 'texts',
    value: setting.enum === undefined ? values : values.map(canonicalMember),
  });
}

/** Reads all texts of a flag in order; of a single value the last one wins. */
export function readFlagTexts(setting: Setting, given: readonly string[]): Parsed {
  const last = given.at(-1) ?? '';
  switch (setting.type) {
    case 'bool':
      return mapParsed(scalars.parseBoolText(last), bool);
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      return mapParsed(scalars.parseIntegerText(last, setting.type), number);
    case 'float':
      return mapParsed(scalars.parseFloatText(last), number);
    case 'duration':
      return mapParsed(scalars.parseDurationText(last), number);
    case 'quantity':
      return mapParsed(scalars.parseQuantityText(last), text);
    case 'string':
      return ok(text(last));
    case 'ip':
      return mapParsed(scalars.parseIPText(last), text);
    case 'severity':
      return mapParsed(scalars.parseSeverityText(last), text);
    case 'location':
      return mapParsed(scalars.parseLocationText(last), text);
    case 'strings':
      return ok(texts(setting)(lists.parseListTexts(given)));
    case 'map':
      return mapParsed(maps.parseMapTexts(given), map);
    case 'thresholds':
      return mapParsed(parseThresholdTexts(given), map);
    case 'gates':
      return mapParsed(maps.parseGateTexts(given), (value) => ({ shape: 'gates', value }));
    case 'headers':
      return mapParsed(maps.parseHeaderTexts(given), (value) => ({ shape: 'headers', value }));
    case 'modules':
      return mapParsed(lists.parseModuleTexts(given), (value) => ({ shape: 'modules', value }));
    case 'taints':
      return mapParsed(parseTaintTexts(given), (value) => ({ shape: 'taints', value }));
    case 'memory':
      return mapParsed(lists.parseMemoryTexts(given), (value) => ({ shape: 'memory', value }));
    case 'priorities':
      return ok({ shape: 'priorities', value: [] });
    default:
      return setting.type satisfies never;
  }
}

/** Reads a string of the file with a syntax of its own. */
function formed(raw: unknown, parse: (value: string) => Parsed<string>): Parsed {
  const read = scalars.parseText(raw);
  return mapParsed(read.kind === 'ok' ? parse(read.value) : read, text);
}

/** Reads a value of the configuration file, or a default of the table, which has the same form. */
export function readFileValue(setting: Setting, raw: unknown): Parsed {
  switch (setting.type) {
    case 'bool':
      return mapParsed(scalars.parseBool(raw), bool);
    case 'int32':
    case 'int64':
    case 'uint32':
    case 'uint64':
      return mapParsed(scalars.parseInteger(raw, setting.type), number);
    case 'float':
      return mapParsed(scalars.parseFloatValue(raw), number);
    case 'duration':
      return mapParsed(
        setting.isNanoseconds === undefined
          ? scalars.parseDurationValue(raw)
          : scalars.parseNanosecondsOrDuration(raw),
        number,
      );
    case 'quantity':
      return mapParsed(scalars.parseQuantityValue(raw), text);
    case 'string':
      return mapParsed(scalars.parseText(raw), text);
    case 'ip':
      return formed(raw, scalars.parseIPText);
    case 'severity':
      return formed(raw, scalars.parseSeverityText);
    case 'location':
      return formed(raw, scalars.parseLocationText);
    case 'strings':
      return mapParsed(lists.parseList(raw), texts(setting));
    case 'map':
    case 'thresholds':
      return mapParsed(maps.parseMap(raw), map);
    case 'gates':
      return mapParsed(maps.parseGates(raw), (value) => ({ shape: 'gates', value }));
    case 'headers':
      return mapParsed(maps.parseHeaders(raw), (value) => ({ shape: 'headers', value }));
    case 'modules':
      return mapParsed(lists.parseModules(raw), (value) => ({ shape: 'modules', value }));
    case 'taints':
      return mapParsed(parseTaints(raw), (value) => ({ shape: 'taints', value }));
    case 'memory':
      return mapParsed(lists.parseMemory(raw), (value) => ({ shape: 'memory', value }));
    case 'priorities':
      return mapParsed(lists.parsePriorities(raw), (value) => ({ shape: 'priorities', value }));
    default:
      return setting.type satisfies never;
  }
}
