import { expect, test } from 'vitest';
import { FEATURE_GATES } from '#api/schema/feature-gates.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import configFacts from './data/nodeagent-config.json' with { type: 'json' };
import flagFacts from './data/nodeagent-flags.json' with { type: 'json' };
import { SETTING_GROUPS, type Setting, type SettingFlag, type SettingType } from './setting.ts';
import { FLAG_BY_NAME, SETTING_BY_KEY, SETTINGS } from './table.ts';
import { upstreamField, upstreamFlag } from './upstream.ts';

interface FlagFact {
  readonly name: string;
  readonly upstream?: string;
  readonly short?: string;
  readonly type: string;
  readonly default: unknown;
  readonly configField?: string;
  readonly fileDefault?: unknown;
  readonly inSpec: boolean;
  readonly deprecated?: string;
  readonly removalAnnounced?: string;
  readonly stage?: string;
  readonly range?: readonly unknown[];
  readonly enum?: readonly string[];
  readonly zeroMeans?: string;
}

interface FieldFact {
  readonly path: string;
  readonly upstream?: string;
  readonly type: string;
  readonly default?: unknown;
  readonly flags?: readonly string[];
  readonly range?: readonly unknown[];
  readonly enum?: readonly string[];
  readonly rule?: string;
  readonly gate?: string;
}

const FLAGS = flagFacts.flags as unknown as readonly FlagFact[];
const FIELDS = configFacts.fields as unknown as readonly FieldFact[];

/** Names of the fact tables for the types of the table. */
const FLAG_TYPES: Partial<Record<SettingType, readonly string[]>> = {
  strings: ['list<string>'],
  map: ['map<string,string>'],
  thresholds: ['map<string,string>'],
  gates: ['map<string,bool>'],
  headers: ['multimap<string,string>'],
  location: ['file:line'],
  modules: ['list<pattern=int>'],
  taints: ['list<key=value:effect>'],
  memory: ['list<numa:type=quantity>'],
  quantity: ['quantity', 'string'],
  uint32: ['int32'],
};

const CONFIG_PACKAGE = `${VOCABULARIES.plat.configApiGroup}/v1beta1`;

const FIELD_TYPES: Partial<Record<SettingType, readonly string[]>> = {
  strings: ['[]string'],
  map: ['map<string,string>'],
  thresholds: ['map<string,string>'],
  gates: ['map<string,bool>'],
  headers: ['map<string,[]string>'],
  modules: ['[]componentconfig/v1alpha1.VModuleItem'],
  taints: ['[]core/v1.Taint'],
  memory: [`[]${CONFIG_PACKAGE}.MemoryReservation`],
  priorities: [`[]${CONFIG_PACKAGE}.ShutdownGracePeriodByPodPriority`],
  quantity: ['quantity', 'string'],
  ip: ['string'],
  float: ['double'],
};

const isEmpty = (value: unknown): boolean =>
  value === undefined || value === null || (typeof value === 'object' && Object.keys(value).length === 0);

/** Empty maps and lists are the same as none. */
const plain = (value: unknown): unknown => (isEmpty(value) ? 'empty' : value);

const settingOf = (fact: FlagFact): Setting | undefined => FLAG_BY_NAME.get(fact.name)?.setting;
const flagOf = (fact: FlagFact): SettingFlag | undefined => FLAG_BY_NAME.get(fact.name)?.flag;

/** Settings of this program that are in no fact table. */
const OWN_SETTINGS = [
  'vocabulary',
  'socketPath',
  'maxParallelStarts',
  'saveServerObjects',
  'podLogsDir',
  'containerLogsDir',
];

/** Fields of later releases that are accepted, as they correspond to one of our flags. */
const LATER_FIELDS = ['containerRuntimeEndpoint', 'imageServiceEndpoint'];

test('has every flag of the facts and no other but its own', () => {
  const own = OWN_SETTINGS.flatMap((key) => SETTING_BY_KEY.get(key)?.flags.map(({ name }) => name) ?? []);
  const known = [...FLAGS.map(({ name }) => name), ...own];
  expect([...FLAG_BY_NAME.keys()].sort()).toEqual(known.sort());
});

test('has every field of the facts and no other but its own', () => {
  const fields = SETTINGS.filter(({ inFile }) => inFile).map(({ key }) => key);
  const known = [...FIELDS.map(({ path }) => path), ...OWN_SETTINGS, ...LATER_FIELDS];
  expect(fields.sort()).toEqual(known.sort());
});

test('names each setting and each flag once', () => {
  expect(new Set(SETTINGS.map(({ key }) => key)).size).toBe(SETTINGS.length);
  const names = SETTINGS.flatMap(({ flags }) => flags.map(({ name }) => name));
  expect(new Set(names).size).toBe(names.length);
});

test.each(SETTINGS)('describes $key and assigns a group', ({ help, group }) => {
  expect(help.length).toBeGreaterThan(10);
  expect(SETTING_GROUPS).toContain(group);
});

test.each(FLAGS)('--$name agrees with the facts', (fact) => {
  const setting = settingOf(fact);
  const flag = flagOf(fact);
  expect(upstreamFlag(fact.name)).toBe(fact.upstream);
  expect(flag).toEqual({
    name: fact.name,
    ...(fact.short === undefined ? {} : { short: fact.short.slice(1) }),
    ...(fact.deprecated === undefined ? {} : { deprecated: fact.deprecated }),
    ...(fact.removalAnnounced === undefined ? {} : { removedIn: fact.removalAnnounced }),
    ...(fact.inSpec ? { inSpec: true } : {}),
    ...(fact.stage === undefined ? {} : { stage: fact.stage }),
  });
  const isLater = LATER_FIELDS.includes(setting?.key ?? '');
  expect(setting?.inFile === true && !isLater ? setting.key : undefined).toBe(fact.configField);
  if (fact.name === 'version') return;
  expect(FLAG_TYPES[setting?.type ?? 'bool'] ?? [setting?.type]).toContain(fact.type);
  expect(plain(setting?.default)).toEqual(plain(fact.default));
  expect(setting?.fileDefault).toEqual(fact.fileDefault);
  expect(setting?.enum).toEqual(fact.enum);
  expect(setting?.range).toEqual(fact.range);
  expect(setting?.zeroMeans).toBe(fact.zeroMeans);
});

/** The one field whose file form is a number of nanoseconds. */
const NANOSECONDS = 'logging.flushFrequency';

test('knows the duration that files give in nanoseconds', () => {
  const setting = SETTING_BY_KEY.get(NANOSECONDS);
  const fact = FIELDS.find(({ path }) => path === NANOSECONDS);
  expect([setting?.isNanoseconds, setting?.type, setting?.default]).toEqual([true, 'duration', '5s']);
  expect([fact?.type, fact?.default]).toEqual(['int64', 5_000_000_000]);
});

test.each(FIELDS.filter(({ path }) => path !== NANOSECONDS))('$path agrees with the facts', (fact) => {
  const setting = SETTING_BY_KEY.get(fact.path);
  expect(upstreamField(fact.path)).toBe(fact.upstream);
  expect(setting?.flags.map(({ name }) => name)).toEqual(fact.flags ?? []);
  expect(setting?.enum).toEqual(fact.enum);
  expect(plain(setting?.fileDefault ?? setting?.default)).toEqual(plain(fact.default));
  expect(FIELD_TYPES[setting?.type ?? 'bool'] ?? [setting?.type]).toContain(fact.type);
});

test.each(FIELDS.filter(({ range }) => range !== undefined))('has the range of $path', ({ path, range }) => {
  // The two shutdown periods have ranges that depend on each other: rules in validate/shutdown.ts.
  const isRule = typeof range?.[0] === 'string' && range[0].includes('or');
  expect(SETTING_BY_KEY.get(path)?.range).toEqual(isRule ? undefined : range);
});

test.each(FIELDS.filter(({ rule, gate }) => gate !== undefined || rule?.includes('gate') === true))(
  'knows the gates of $path',
  ({ path, rule, gate }) => {
    const named = gate === undefined ? (rule?.split(';')[0] ?? '') : gate;
    const gates = FEATURE_GATES.map(({ name }) => name).filter((name) =>
      new RegExp(`\\b${name}\\b`).test(named),
    );
    expect(gates.length).toBeGreaterThan(0);
    expect([...(SETTING_BY_KEY.get(path)?.gates ?? [])].sort()).toEqual(gates.sort());
  },
);
