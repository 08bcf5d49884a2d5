import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Setting, SettingType } from '../setting.ts';
import { upstreamGate, upstreamMember } from '../upstream.ts';
import { checkValue } from './check.ts';
import { toFileForm } from './format.ts';
import { readFileValue, readFlagTexts } from './read.ts';

const setting = (type: SettingType, more: Partial<Setting> = {}): Setting => ({
  key: 'testing',
  group: 'Agent',
  type,
  default: '',
  flags: [],
  acted: true,
  help: 'A setting of a test.',
  ...more,
});

const flagValue = (type: SettingType, ...texts: string[]): unknown => {
  const parsed = readFlagTexts(setting(type), texts);
  return parsed.kind === 'ok' ? parsed.value.value : parsed.errors.map(({ detail }) => detail).join('; ');
};

const fileValue = (type: SettingType, raw: unknown, more: Partial<Setting> = {}): unknown => {
  const parsed = readFileValue(setting(type, more), raw);
  return parsed.kind === 'ok'
    ? parsed.value.value
    : parsed.errors.map(({ path, detail }) => `${path}: ${detail}`).join('; ');
};

describe('readFlagTexts', () => {
  test.each<[SettingType, readonly string[], unknown]>([
    ['bool', ['true'], true],
    ['bool', ['F'], false],
    ['bool', ['true', 'false'], false],
    ['int32', ['-5'], -5],
    ['int32', ['1', '2'], 2],
    ['int64', ['9007199254740991'], 9007199254740991],
    ['int64', ['+9007199254740993'], 2n ** 53n + 1n],
    ['int64', ['9223372036854775807'], 2n ** 63n - 1n],
    ['int64', ['-9223372036854775808'], -(2n ** 63n)],
    ['uint64', ['18446744073709551615'], 2n ** 64n - 1n],
    ['uint64', ['0'], 0],
    ['float', ['0.5'], 0.5],
    ['duration', ['1m30s'], 90_000],
    ['duration', ['1us'], 0.001],
    ['quantity', ['1024Ki'], '1Mi'],
    ['ip', ['::1'], '::1'],
    ['severity', ['warning'], '1'],
    ['severity', ['3'], '3'],
    ['location', ['worker.ts:42'], 'worker.ts:42'],
    ['string', ['a,b'], 'a,b'],
    ['strings', ['a, b', 'c'], ['a', 'b', 'c']],
    ['strings', [''], []],
    ['map', ['a=1,b=x=y', 'a=2'], { a: '2', b: 'x=y' }],
    ['map', ['a='], { a: '' }],
    ['gates', ['NodeSwap=true', 'AppArmor=0'], { NodeSwap: true, AppArmor: false }],
    ['headers', ['a:hello,b:again,a:x:y', 'b:more'], { a: ['hello', 'x:y'], b: ['again', 'more'] }],
    ['modules', ['worker*=3'], [{ filePattern: 'worker*', verbosity: 3 }]],
    [
      'taints',
      ['a=b:NoSchedule,c:NoExecute'],
      [
        { key: 'a', value: 'b', effect: 'NoSchedule' },
        { key: 'c', effect: 'NoExecute' },
      ],
    ],
    [
      'memory',
      ['0:memory=1Gi,hugepages-1Gi=2Gi;1:memory=1Gi', '2:memory=1Gi'],
      [
        { numaNode: 0, limits: { memory: '1Gi', 'hugepages-1Gi': '2Gi' } },
        { numaNode: 1, limits: { memory: '1Gi' } },
        { numaNode: 2, limits: { memory: '1Gi' } },
      ],
    ],
  ])('reads %s from %j', (type, texts, value) => {
    expect(flagValue(type, ...texts)).toEqual(value);
  });

  test.each<[SettingType, string, string]>([
    ['bool', 'yes', 'must be true or false'],
    ['int32', '1.5', 'must be a whole number'],
    ['int32', '2147483648', 'must be from -2147483648 to 2147483647'],
    ['int64', '9223372036854775808', 'must be from -9223372036854775808 to 9223372036854775807'],
    ['int64', '-9223372036854775809', 'must be from -9223372036854775808'],
    ['uint64', '18446744073709551616', 'must be from 0'],
    ['uint32', '-1', 'must be from 0'],
    ['float', 'x', 'must be a number'],
    ['duration', '90', 'must be a duration such as 1m30s or 100ms; did you mean 90s?'],
    ['quantity', '10 MB', 'must be a quantity'],
    ['ip', '10.0.0', 'must be an IP address'],
    ['severity', '4', 'must be one of INFO'],
    ['location', 'worker', 'must be file:line'],
    ['map', 'a', 'at character 1: "a" has no "="'],
    ['map', 'a=1,a=2', 'at character 5: a is a duplicate'],
    ['gates', 'NodeSwop=true', 'did you mean "NodeSwap"?'],
    ['gates', 'NodeSwap=on', 'at character 10: NodeSwap: must be true or false'],
    ['modules', 'a=b', 'at character 3: a: must be a whole number'],
    ['taints', 'a=b', 'must be key=value:effect'],
    ['taints', 'a:Never', 'must be one of NoSchedule, PreferNoSchedule, NoExecute'],
    ['memory', 'memory=1Gi', 'must be node:type=quantity'],
  ])('rejects %s %j', (type, text, detail) => {
    expect(flagValue(type, text)).toContain(detail);
  });

  test('never shows the text of headers', () => {
    const parsed = readFlagTexts(setting('headers'), ['Authorization Bearer hunter2']);
    expect(parsed.kind).toBe('errors');
    expect(JSON.stringify(parsed)).not.toContain('hunter2');
  });

  test("converts upstream's members to our names", () => {
    const groups = setting('strings', { enum: ['pods', 'plat-reserved'] });
    const parsed = readFlagTexts(groups, [`pods,${upstreamMember('plat-reserved')}`]);
    expect(upstreamMember('plat-reserved')).not.toBe('plat-reserved');
    expect(parsed).toEqual({ kind: 'ok', value: { shape: 'texts', value: ['pods', 'plat-reserved'] } });
  });

  test('never throws, whatever the text', () => {
    const types: readonly SettingType[] = [
      'bool',
      'int64',
      'duration',
      'quantity',
      'map',
      'gates',
      'headers',
      'modules',
      'taints',
      'memory',
      'thresholds',
      'location',
    ];
    fc.assert(
      fc.property(
        fc.constantFrom(...types),
        fc.array(fc.string(), { minLength: 1, maxLength: 3 }),
        (type, texts) => {
          expect(['ok', 'errors']).toContain(readFlagTexts(setting(type), texts).kind);
        },
      ),
    );
  });
});

describe('readFileValue', () => {
  test.each<[SettingType, unknown, unknown]>([
    ['bool', false, false],
    ['int32', 5, 5],
    ['float', 0.5, 0.5],
    ['duration', '1h', 3_600_000],
    ['quantity', '0.5Gi', '512Mi'],
    ['quantity', 100, '100'],
    ['strings', ['a', 'b'], ['a', 'b']],
    ['map', { cpu: '1' }, { cpu: '1' }],
    ['headers', { a: ['x', 'y'] }, { a: ['x', 'y'] }],
    ['memory', [{ numaNode: 0, limits: { memory: '1Gi' } }], [{ numaNode: 0, limits: { memory: '1Gi' } }]],
    [
      'priorities',
      [{ priority: 5, shutdownGracePeriodSeconds: 10 }],
      [{ priority: 5, shutdownGracePeriodSeconds: 10 }],
    ],
    ['taints', [{ key: 'a', value: null, effect: 'NoExecute' }], [{ key: 'a', effect: 'NoExecute' }]],
  ])('reads %s from %j', (type, raw, value) => {
    expect(fileValue(type, raw)).toEqual(value);
  });

  test.each<[SettingType, unknown, string]>([
    ['bool', 'true', ': must be true or false without quotes, not a string'],
    ['int32', '5', ': must be a whole number, not a string'],
    ['int32', 5.5, ': must be a whole number'],
    ['duration', 5, ': must be a duration such as 1m30s, not a number'],
    ['string', 5, ': must be a string, not a number; write "5"'],
    ['string', ['a'], ': must be a string, not a list'],
    ['strings', 'a', ': must be a list, not a string'],
    ['strings', ['a', 5], '[1]: must be a string, not a number'],
    ['map', { cpu: 1 }, '[cpu]: must be a string, not a number; write "1"'],
    ['map', ['a'], ': must be a mapping such as {cpu: "1"}, not a list'],
    ['gates', { NodeSwap: 'true' }, '[NodeSwap]: must be true or false'],
    ['headers', { a: 'x' }, '[a]: must be a list of strings'],
    ['headers', { a: ['x', 5] }, '[a]: must be a list of strings'],
    ['modules', [{ filePattern: 'a' }], '[0].verbosity: must be given'],
    ['modules', ['a=1'], '[0]: must be a mapping, not a string'],
    [
      'taints',
      [{ key: 'a', effect: 'NoExecute', valu: 'b' }],
      '[0].valu: no such field; did you mean value?',
    ],
    [
      'memory',
      [{ numaNode: 'x', limits: { memory: 1 } }],
      '[0].numaNode: must be a whole number, not a string; [0].limits[memory]: must be a string',
    ],
  ])('rejects %s %j', (type, raw, detail) => {
    expect(fileValue(type, raw)).toContain(detail);
  });

  test('reads nanoseconds where the setting allows them', () => {
    expect(fileValue('duration', 5_000_000_000, { isNanoseconds: true })).toBe(5000);
    expect(fileValue('duration', '5s', { isNanoseconds: true })).toBe(5000);
  });

  test('rejects a gate under both its names', () => {
    const upstream = upstreamGate('NodeAgentPodResources') ?? '';
    const both = { [upstream]: true, NodeAgentPodResources: true };
    expect(fileValue('gates', both)).toContain('NodeAgentPodResources in another spelling');
  });

  test('never throws, whatever the value', () => {
    const types: readonly SettingType[] = [
      'bool',
      'int64',
      'duration',
      'quantity',
      'ip',
      'strings',
      'map',
      'gates',
      'headers',
      'modules',
      'taints',
      'memory',
      'priorities',
    ];
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.jsonValue(), (type, raw) => {
        expect(['ok', 'errors']).toContain(readFileValue(setting(type), raw).kind);
      }),
    );
  });
});

describe('toFileForm', () => {
  test('round-trips durations', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e12 }), (micros) => {
        const form = toFileForm(setting('duration'), micros / 1000);
        expect(fileValue('duration', form)).toBeCloseTo(micros / 1000, 3);
      }),
    );
  });

  test('hides secrets and shows the names of headers', () => {
    expect(toFileForm(setting('string', { isSecret: true }), 'hunter2')).toBe('<hidden>');
    expect(toFileForm(setting('headers', { isSecret: true }), { a: ['hunter2'] })).toEqual({
      a: ['<hidden>'],
    });
  });

  test("writes upstream's names on request", () => {
    expect(toFileForm(setting('gates'), { NodeAgentPodResources: true }, true)).toEqual({
      [upstreamGate('NodeAgentPodResources') ?? '']: true,
    });
    expect(toFileForm(setting('strings', { enum: ['plat-reserved'] }), ['plat-reserved'], true)).toEqual([
      upstreamMember('plat-reserved'),
    ]);
  });
});

describe('checkValue', () => {
  test.each([
    [[0, 100], 101, 'must be from 0 to 100'],
    [[2, null], 1, 'must be at least 2'],
    [[null, 5], 6, 'must be at most 5'],
  ] as const)('rejects what is outside of %j', (range, value, detail) => {
    const errors = checkValue(setting('int32', { range }), { shape: 'number', value });
    expect(errors.map((error) => error.detail)).toEqual([detail]);
  });

  test('compares durations with the limits of the table', () => {
    const period = setting('duration', { range: ['1us', '1s'] });
    expect(checkValue(period, { shape: 'number', value: 1000 })).toEqual([]);
    expect(checkValue(period, { shape: 'number', value: 1001 })).toHaveLength(1);
    expect(checkValue(period, { shape: 'number', value: 0.0005 })).toHaveLength(1);
  });

  test('accepts the default although it is not one of the values', () => {
    const version = setting('string', { enum: ['VersionTLS12'], default: '' });
    expect(checkValue(version, { shape: 'text', value: '' })).toEqual([]);
    expect(checkValue(version, { shape: 'text', value: 'VersionTLS1' })).toHaveLength(1);
  });

  test('reports the index of an invalid list member', () => {
    const groups = setting('strings', { enum: ['pods', 'none'] });
    expect(checkValue(groups, { shape: 'texts', value: ['pods', 'pod'] })).toEqual([
      {
        kind: 'FieldValueNotSupported',
        path: '[1]',
        badValue: 'pod',
        detail: 'must be one of pods, none; did you mean pods?',
      },
    ]);
  });
});
