/** Checks the declared effects of settings and feature gates against the sources: those with an effect
 *  have a consumer in the program, those without have none. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { CONFIG_SETTINGS } from '#agent/config/table.ts';
import { FEATURE_GATES } from '#api/schema/feature-gates.ts';
import { effectiveGates, gateEffect, type Program } from '#api/schema/gate-effects.ts';
import { PROVED_GATES, PROVED_SETTINGS, type ProvedEffect } from './proved-effects.ts';

const ROOT = join(import.meta.dirname, '..');

const ALIASES: ReadonlyMap<string, string> = new Map(
  Object.entries(
    (JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { imports: Record<string, string> })
      .imports,
  ).map(([alias, folder]) => [alias.slice(0, -1), join(ROOT, folder.slice(0, -1))]),
);

function resolveImport(from: string, target: string): string | undefined {
  if (target.startsWith('.')) return join(dirname(from), target);
  const alias = [...ALIASES].find(([prefix]) => target.startsWith(prefix));
  return alias === undefined ? undefined : join(alias[1], target.slice(alias[0].length));
}

/** Returns the sources of a program without comments: its main file and everything that it imports, types
 *  included. */
function sourcesOf(main: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const todo = [join(ROOT, main)];
  for (let path = todo.pop(); path !== undefined; path = todo.pop()) {
    if (found.has(path) || !existsSync(path)) continue;
    const text = readFileSync(path, 'utf8').replaceAll(/\/\*\*[\s\S]*?\*\/|\/\/ .*/g, '');
    found.set(path, text);
    if (!path.endsWith('.ts')) continue;
    const targets = text.matchAll(
      /(?:from|import|new URL|requireData)\s*\(?\s*'(?<target>[^']+\.(?:ts|json))'/g,
    );
    for (const { groups } of targets) {
      const next = resolveImport(path, groups?.['target'] ?? '');
      if (next !== undefined) todo.push(next);
    }
  }
  return new Map([...found].map(([path, text]) => [path.slice(ROOT.length + 1), text]));
}

const MAIN: Readonly<Record<Program, string>> = {
  nodeagent: 'agent/bin.ts',
  'control-plane-lite': 'control-plane-lite/bin.ts',
};

const SOURCES = new Map(Object.entries(MAIN).map(([program, main]) => [program, sourcesOf(main)] as const));
const sources = (program: Program): ReadonlyMap<string, string> => SOURCES.get(program) ?? new Map();

test('the sources of both programs are found', () => {
  expect([...sources('nodeagent').keys()]).toContain('agent/wiring/pods/pods.ts');
  expect([...sources('control-plane-lite').keys()]).toContain(
    'control-plane-lite/controllers/job/controller.ts',
  );
  expect([...sources('control-plane-lite').keys()].filter((path) => path.startsWith('agent/'))).toEqual([]);
});

/** Files that name gates without checking them. */
const GATE_TABLES = /schema\/feature-gates|schema\/gate-effects|config\/gen\/|config\/data\//;

/** Defaults of kinds that only the server applies. The agent loads the same table and passes no gates. */
const SERVER_TABLES = /schema\/data\/defaults\.json/;

/** Returns the files of a program that check a gate: by a call, through a constant, or in a table of
 *  gates. */
function gateReadersOf(gate: string, program: Program): readonly string[] {
  const reads = new RegExp(
    [
      `featureEnabled\\([^)]*'${gate}'`,
      `[gG]ates\\??\\.has\\('${gate}'\\)`,
      `_GATE = '${gate}'`,
      `gates?: (?:\\[[^\\]]*)?'${gate}'`,
      `_GATES = \\{[^}]*'${gate}'`,
      `"gate": ?"${gate}"`,
    ].join('|'),
  );
  return [...sources(program)].flatMap(([path, text]) => {
    if (GATE_TABLES.test(path) || (program === 'nodeagent' && SERVER_TABLES.test(path))) return [];
    return reads.test(text) ? [path] : [];
  });
}

/** Not a gate but a value for all gates of a stage. */
const GROUPS = new Set(['AllAlpha', 'AllBeta']);

test.each(FEATURE_GATES.map(({ name }) => name).filter((name) => !GROUPS.has(name)))(
  'the table agrees with the sources about gate %s',
  (name) => {
    for (const program of ['nodeagent', 'control-plane-lite'] as const) {
      const askers = gateReadersOf(name, program);
      expect([program, askers.length > 0, askers]).toEqual([
        program,
        gateEffect(name, program) === true,
        askers,
      ]);
    }
  },
);

test('every checked gate exists, and so do those of the table', () => {
  const names = new Set(FEATURE_GATES.map(({ name }) => name));
  const requested = [...SOURCES.values()].flatMap((files) =>
    [...files.values()].flatMap((text) =>
      [...text.matchAll(/(?:featureEnabled\([^)]*|[gG]ates\.has\()'(?<name>\w+)'/g)].map(
        (m) => m.groups?.['name'] ?? '',
      ),
    ),
  );
  expect(requested.length).toBeGreaterThan(30);
  expect(requested.filter((name) => !names.has(name))).toEqual([]);
  expect(effectiveGates('nodeagent').filter((name) => !names.has(name))).toEqual([]);
});

/** Files that declare, parse, validate and print settings: names there have no effect. The managed runtime
 *  has members with the same names in containerd's configuration, and does not get settings by name. */
const SETTING_TABLES = /^agent\/config\/|^agent\/runtime\/managed\//;

const agentSources = [...sources('nodeagent')].filter(
  ([path]) => /^(?:agent|eviction)\//.test(path) && !SETTING_TABLES.test(path),
);

/** Names that also have other meanings. */
const HOMONYMS = new Set(['docker']);

const word = (name: string): RegExp =>
  new RegExp(HOMONYMS.has(name) ? `onfig\\??\\.${name}\\b` : `\\.${name}\\b|[{,]\\s*${name}\\b\\s*[,:}]`);

/** Returns the files that read a member with the setting's name. The configuration is passed on in parts,
 *  so this includes other readers; no other member has the name of a setting without effect. */
const readersOf = (key: string): readonly string[] => {
  const pattern = word(key.split('.').at(-1) ?? key);
  return agentSources.filter(([, text]) => pattern.test(text)).map(([path]) => path);
};

/** Settings that take effect while the configuration is loaded: a file is read, a value is rejected. */
const AT_START = new Set(['config', 'containerRuntime']);

test.each(CONFIG_SETTINGS.map((setting) => [setting.key, setting] as const))(
  'the table agrees with the sources about setting %s',
  (key, { acted }) => {
    if (AT_START.has(key)) return;
    const readers = readersOf(key);
    expect([readers.length > 0, acted === true ? '' : readers]).toEqual([
      acted === true,
      acted === true ? '' : [],
    ]);
  },
);

const hasTest = ({ test: file, title }: ProvedEffect): boolean =>
  readFileSync(join(ROOT, file), 'utf8').includes(`'${title}'`);

test.each(Object.entries(PROVED_SETTINGS))(
  'setting %s is consumed and proved where the table says',
  (key, effect) => {
    const setting = CONFIG_SETTINGS.find((one) => one.key === key);
    expect(setting?.acted).toBe(true);
    expect(readersOf(key)).toContain(effect.code);
    expect(hasTest(effect)).toBe(true);
  },
);

test.each(Object.entries(PROVED_GATES))(
  'gate %s is checked and proved where the table says',
  (name, effect) => {
    expect(gateEffect(name, 'nodeagent')).toBe(true);
    expect(gateReadersOf(name, 'nodeagent')).toContain(effect.code);
    expect(hasTest(effect)).toBe(true);
  },
);

test('every setting of the agent has its effect, or is ignored for a reason', () => {
  const others = CONFIG_SETTINGS.filter(
    ({ acted }) => acted !== true && (acted.state !== 'ignored' || acted.why === ''),
  );
  expect(others.map(({ key }) => key)).toEqual([]);
});
